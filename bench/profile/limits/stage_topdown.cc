#include "bench/profile/limits/stage_topdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "harness/counters/core_types.h"
#include "harness/text/text.h"
#include "harness/topdown/advice.h"

namespace topdnn {

namespace {

bool AnyEventOf(const TopdownTable& table, const SequenceSamples& samples) {
  return std::any_of(table.events.begin(), table.events.end(), [&](const TopdownEvent& event) {
    return std::find(samples.events.begin(), samples.events.end(), event.name) !=
           samples.events.end();
  });
}

// The sum is correct only if every FLOP event was counted all the time.
std::optional<double> CountedFlops(const TopdownTable& table, const Record& record) {
  if (record.running_fraction.value_or(0) < 0.999) return std::nullopt;
  std::optional<double> flops;
  for (const ExtraEvent& extra : table.extras) {
    if (extra.flops == 0) continue;
    const std::optional<double> count = record.Event(extra.event.name);
    if (!count) return std::nullopt;
    flops = flops.value_or(0) + *count * extra.flops;
  }
  return flops;
}

// "conv1 forward (31 % of the step), Memory_Bound 42 %: ..."
void AddAdvice(const std::vector<TopdownResult>& results, Report& report) {
  constexpr double kMinShare =
      0.1;  // of the step: advice on smaller stages would not change its time
  if (!report.step.seconds) return;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Record& stage = report.stages[i];
    if (!stage.seconds || !stage.topdown) continue;
    const double share = stage.seconds->median / report.step.seconds->median;
    const auto advice = AdviseOn(results[i]);
    if (share < kMinShare || advice.empty()) continue;
    report.notes.push_back(
        {.text = fmt::format("{} {} ({:.0f} % of the step), {} {:.0f} %: {}", stage.name,
                             WordsOf(stage.pass), 100 * share, advice.front().node,
                             100 * advice.front().value, advice.front().sentence),
         .basis = Note::Basis::kStep,
         .main = true});
  }
}

}  // namespace

std::map<std::string, double, std::less<>> CountsOfOnePass(const Record& record,
                                                           const SequenceSamples& samples) {
  // The factor that scales each pass to the first.
  std::map<std::size_t, double> factors;
  for (std::size_t e = 0; e < samples.events.size(); ++e) {
    const std::string& name = samples.events[e];
    const std::size_t mark = name.find('#');
    if (mark == std::string::npos || ElsewhereOf(name)) continue;
    const auto first = record.Event(name.substr(0, mark));
    const auto again = record.Event(name);
    if (first && again && *again > 0) factors[samples.event_passes[e]] = *first / *again;
  }
  std::map<std::string, double, std::less<>> counts;
  for (std::size_t e = 0; e < samples.events.size(); ++e) {
    const std::string& name = samples.events[e];
    const auto value = record.Event(name);
    if (!value || name.find('#') != std::string::npos) continue;
    const auto factor = factors.find(samples.event_passes[e]);
    counts[name] = *value * (factor == factors.end() ? 1.0 : factor->second);
  }
  return counts;
}

TopdownResult AddTopdown(const TopdownTable& table, bool smt, const SequenceSamples& samples,
                         Record& record) {
  TopdownResult result = EvaluateTopdown(table, CountsOfOnePass(record, samples), smt);
  std::map<std::string, std::optional<double>> nodes;
  bool any = false;
  for (const auto* level :
       {&result.level1, &result.level2, &result.level3, &result.level4, &result.instead}) {
    for (const auto& [name, value] : *level) {
      nodes[name] = value;
      any = any || value;
    }
  }
  if (any) record.topdown = std::move(nodes);
  if (!record.flops_counted) record.flops_counted = CountedFlops(table, record);
  return result;
}

void AddTopdown(const TopdownTable& table, bool smt, const SequenceSamples& samples,
                Report& report) {
  if (!AnyEventOf(table, samples)) return;
  const TopdownResult step = AddTopdown(table, smt, samples, report.step);
  std::vector<TopdownResult> results;
  for (Record& stage : report.stages) results.push_back(AddTopdown(table, smt, samples, stage));
  std::string note = fmt::format("Top-Down of {} by {} ({})", table.cpu, step.path, table.source);
  if (!table.note.empty()) note += "; " + table.note;
  report.notes.push_back({.text = note});
  if (!step.missing.empty()) {
    report.notes.push_back(
        {.text = fmt::format("not counted: {}", fmt::join(step.missing, " ")), .main = true});
  }
  AddAdvice(results, report);
}

}  // namespace topdnn
