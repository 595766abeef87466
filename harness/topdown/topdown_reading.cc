#include "harness/topdown/topdown_reading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "harness/topdown/recorded_metrics.h"

namespace topdnn {

namespace {

constexpr std::string_view kContention = "SMT_Contention";

// How far level 1 may be from 1: counts are not taken at one instant, a correction can exceed its
// node, and a count that perf scaled is an estimate.
double Tolerance(const ResolvedCounts& resolved) { return resolved.multiplexed ? 0.2 : 0.1; }

std::optional<double> CountOf(const ResolvedCounts& resolved, std::string_view event) {
  const auto found = resolved.counts.find(event);
  return found == resolved.counts.end() ? std::nullopt : std::optional(found->second);
}

// PERF_METRICS are shares of the slots, so the four of level 1 add up to them.
std::string ContradictionOfMetrics(const ResolvedCounts& resolved) {
  const auto slots = CountOf(resolved, "TOPDOWN.SLOTS");
  double sum = 0;
  for (const char* field : {"PERF_METRICS.RETIRING", "PERF_METRICS.BAD_SPECULATION",
                            "PERF_METRICS.FRONTEND_BOUND", "PERF_METRICS.BACKEND_BOUND"}) {
    const auto value = CountOf(resolved, field);
    if (!value) return "";
    sum += *value;
  }
  if (!slots || *slots <= 0 || std::abs(sum / *slots - 1) <= Tolerance(resolved)) return "";
  return fmt::format(
      "the four topdown-* events add up to {:.1f} % of the slots, and not to 100 %: the slots were "
      "counted over another time or on other CPUs; record all of them in one perf stat",
      100 * sum / *slots);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// perf's spelling: its own name, or the vendor's, with a counter mask as "cpu/NAME,cmask=6/".
std::string PerfSpelling(const TopdownEvent& event) {
  if (!event.perf.empty()) return event.perf;
  const std::size_t mask = event.name.find(":c");
  if (mask == std::string::npos) return Lower(event.name);
  return fmt::format("cpu/{},cmask={}/", Lower(event.name.substr(0, mask)),
                     event.name.substr(mask + 2));
}

bool HasNode(const TopdownResult& result) {
  for (const auto* level :
       {&result.level1, &result.level2, &result.level3, &result.level4, &result.instead}) {
    for (const auto& [name, value] : *level) {
      if (value) return true;
    }
  }
  return false;
}

}  // namespace

std::string ContradictionIn(const ResolvedCounts& resolved, const TopdownResult& result) {
  std::string metrics = ContradictionOfMetrics(resolved);
  if (!metrics.empty()) return metrics;
  double sum = 0;
  bool all = true, contention_absent = false;
  for (const auto& [name, value] : result.level1) {
    sum += value.value_or(0);
    if (name == kContention) {
      contention_absent = !value;
    } else {
      all = all && value.has_value();
    }
  }
  const double tolerance = Tolerance(resolved);
  // The other hardware thread cannot get more than its half of the slots.
  const double least = !all ? 0 : contention_absent ? 0.5 : 1 - tolerance;
  if (sum <= 1 + tolerance && sum >= least) return "";
  const bool nothing = sum == 0 && !HasNode(result);
  if (nothing) return "";
  return fmt::format(
      "level 1 adds up to {:.1f} %, and not to 100 %: {}; record all events in one perf stat, and "
      "check --cpu (the number of slots per cycle)",
      100 * sum,
      sum < 1
          ? "the cycles or slots were counted over a longer time or on more CPUs than the other "
            "events"
          : "the cycles or slots were counted over a shorter time or on fewer CPUs than the other "
            "events");
}

std::string RecordingCommand(const TopdownTable& table) {
  std::vector<std::string> metrics, others;  // the metrics register's events, led by the slots
  for (const std::string& name : EventsOfPath(table, 0, 1, false)) {
    for (const TopdownEvent& event : table.events) {
      if (event.name != name) continue;
      const bool metric = event.name.starts_with("PERF_METRICS.");
      (metric ? metrics : others).push_back(PerfSpelling(event));
    }
  }
  std::erase(others, "slots");
  std::vector<std::string> names;
  if (!metrics.empty()) names.push_back(fmt::format("'{{slots,{}}}'", fmt::join(metrics, ",")));
  names.insert(names.end(), others.begin(), others.end());
  return fmt::format("perf stat -j -e {}", fmt::join(names, ","));
}

TopdownReading ReadTopdown(const TopdownTable& table, const RecordedCounts& recorded,
                           const CountSelection& selection) {
  ResolvedCounts resolved = ResolveCounts(table, recorded, selection);
  TopdownReading reading;
  reading.result = EvaluateTopdown(table, resolved.counts, recorded.smt);
  reading.contradiction = ContradictionIn(resolved, reading.result);
  reading.not_counted = std::move(resolved.not_counted);
  reading.notes = std::move(resolved.notes);
  if (HasNode(reading.result)) return reading;
  RecordedNodes metrics = NodesOfMetrics(table, recorded, selection);
  if (!metrics.result.level1.empty()) {
    reading.result = std::move(metrics.result);
    reading.contradiction = std::move(metrics.contradiction);
    reading.notes.push_back(
        fmt::format("these are metrics that perf computed, since the file has no events for them; "
                    "events: {}",
                    RecordingCommand(table)));
  } else if (!reading.not_counted.empty()) {
    reading.notes.push_back("the events were recorded, but not counted (multiplexing, or no PMU)");
  } else if (resolved.counts.empty()) {
    reading.notes.push_back(
        fmt::format("none of the recorded events belongs to this CPU's table: record with {}",
                    RecordingCommand(table)));
  }
  if (!metrics.note.empty()) reading.notes.push_back(std::move(metrics.note));
  return reading;
}

}  // namespace topdnn
