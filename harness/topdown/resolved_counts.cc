#include "harness/topdown/resolved_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace topdnn {

namespace {

// How reliably a recorded name identifies a table's event; 0 is best: the vendor's name, the raw
// code, perf's name for a similar event. Absent: another event.
std::optional<int> Match(const TopdownEvent& event, const EventName& name) {
  if (name.code) return *name.code == event.code ? std::optional(1) : std::nullopt;
  if (name.name == ParseEventName(event.name).name) return 0;
  if (event.name == "TOPDOWN.SLOTS" && name.name == "TOPDOWN.SLOTS_P") return 2;
  if (event.perf.empty()) return std::nullopt;
  if (name.name == ParseEventName(event.perf).name) return 2;
  const bool cycles = name.name == "CPU-CYCLES" || name.name == "CPU_CYCLES";
  return event.perf == "cycles" && cycles ? std::optional(3) : std::nullopt;
}

// Whether a PMU of this name is a core's: "cpu", "cpu_core", "armv8_pmuv3_0", "armv8_cortex_a76",
// and not "arm_dsu_0" or "uncore_imc_0". Without a name, perf counted on the core.
bool IsOfCore(const std::string& pmu) {
  if (pmu.empty() || pmu == "cpu") return true;
  constexpr std::string_view kPrefixes[] = {"cpu_", "armv", "arm_cortex", "arm_neoverse", "apple_"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return pmu.starts_with(prefix); });
}

bool IsOtherCoreType(const TopdownTable& table, const std::string& pmu) {
  const bool efficiency = pmu == "cpu_atom" || pmu == "cpu_lowpower";
  return table.efficiency_core ? pmu == "cpu_core" || pmu == "cpu_lowpower" : efficiency;
}

// One event in one origin. Several values: it was opened in several groups, or the run was
// repeated.
struct Occurrences {
  std::vector<double> values;
  std::size_t lines = 0;
  double running_fraction = 1;
  Uncounted why = Uncounted::kNotCounted;
};

using PerOrigin = std::map<std::size_t, Occurrences>;  // by the origin's index

// The recorded lines of the selection, by the event's index.
std::map<std::size_t, PerOrigin> Select(const RecordedCounts& recorded,
                                        const CountSelection& selection) {
  // Lines without a time among lines with one are perf's summary of all intervals.
  const bool intervals =
      std::any_of(recorded.origins.begin(), recorded.origins.end(),
                  [](const CountOrigin& origin) { return !origin.interval.empty(); });
  const auto is_taken = [&](const CountOrigin& origin) {
    return origin.group == selection.group &&
           (selection.interval ? origin.interval == *selection.interval
                               : !intervals || !origin.interval.empty());
  };
  std::map<std::size_t, PerOrigin> selected;
  for (const RecordedCount& count : selection.counts.value_or(recorded.counts)) {
    if (!is_taken(recorded.origins[count.origin])) continue;
    Occurrences& all = selected[count.event][count.origin];
    ++all.lines;
    if (count.value) {
      all.values.push_back(*count.value);
      all.running_fraction = std::min(all.running_fraction, count.running_fraction);
    } else {
      all.why = count.why;
    }
  }
  return selected;
}

bool IsCounted(const PerOrigin& origins) {
  return std::any_of(origins.begin(), origins.end(),
                     [](const auto& item) { return !item.second.values.empty(); });
}

// An event of the table, and its lines.
struct Found {
  const TopdownEvent* event;
  const PerOrigin* lines;
};

class Resolution {
 public:
  Resolution(const TopdownTable& table, const RecordedCounts& recorded,
             const CountSelection& selection)
      : recorded_(recorded), selected_(Select(recorded, selection)) {
    Find(table);
    JudgeOrigins();
    Sum();
  }
  ResolvedCounts Take() { return std::move(resolved_); }

 private:
  // Finds the best spelling of each event, and those that were recorded but never counted.
  void Find(const TopdownTable& table) {
    for (const TopdownEvent& event : table.events) {
      const std::pair<const std::size_t, PerOrigin>* best = nullptr;
      int best_match = 0;
      bool listed = false;
      for (const auto& item : selected_) {
        const EventName& name = recorded_.events[item.first].name;
        const auto match = Match(event, name);
        if (!match || !IsOfCore(name.pmu) || IsOtherCoreType(table, name.pmu)) continue;
        listed = true;
        if (!IsCounted(item.second)) continue;
        if (best != nullptr && *match == best_match) {
          RefuseDifference(event, *best, item);
        } else if (best == nullptr || *match < best_match) {
          best = &item;
          best_match = *match;
        }
      }
      if (best != nullptr) {
        found_.push_back({&event, &best->second});
      } else if (listed) {
        resolved_.not_counted.push_back(event.name);
      }
    }
  }

  void RefuseDifference(const TopdownEvent& event, const std::pair<const std::size_t, PerOrigin>& a,
                        const std::pair<const std::size_t, PerOrigin>& b) const {
    const auto same = [](const auto& x, const auto& y) {
      return x.first == y.first && x.second.values == y.second.values;
    };
    if (std::equal(a.second.begin(), a.second.end(), b.second.begin(), b.second.end(), same)) {
      return;
    }
    throw TopdownError(
        fmt::format("{} is listed twice, as '{}' and '{}', with different counts: keep one",
                    event.name, recorded_.events[a.first].spelling.substr(0, 80),
                    recorded_.events[b.first].spelling.substr(0, 80)));
  }

  // Sorts the origins into complete, idle and partial ones.
  void JudgeOrigins() {
    std::set<std::size_t> origins;
    for (const Found& found : found_) {
      for (const auto& [origin, lines] : *found.lines) origins.insert(origin);
    }
    for (const std::size_t origin : origins) {
      std::size_t counted = 0;
      for (const Found& found : found_) counted += Values(found, origin).empty() ? 0 : 1;
      if (counted == found_.size()) {
        complete_.insert(origin);
      } else if (counted > 0) {
        partial_.insert(origin);
      } else {
        ++idle_;
      }
    }
    const std::size_t all = origins.size();
    if (idle_ > 0) {
      resolved_.notes.push_back(
          fmt::format("{} of {} intervals or CPUs counted nothing: they were idle", idle_, all));
    }
    if (!complete_.empty() && !partial_.empty()) {
      resolved_.notes.push_back(
          fmt::format("{} of {} intervals or CPUs are left out: only some of the events were "
                      "counted there",
                      partial_.size(), all));
    }
  }

  static std::vector<double> Values(const Found& found, std::size_t origin) {
    const auto place = found.lines->find(origin);
    return place == found.lines->end() ? std::vector<double>{} : place->second.values;
  }

  // Without a complete origin, only the events that were counted in every one can be added.
  void Sum() {
    const std::set<std::size_t>& summed = complete_.empty() ? partial_ : complete_;
    for (const Found& found : found_) {
      double total = 0, running = 1;
      bool everywhere = true;
      for (const std::size_t origin : summed) {
        const auto values = Values(found, origin);
        everywhere = everywhere && !values.empty();
        if (values.empty()) continue;
        total += ValueIn(origin, values);
        running = std::min(running, found.lines->at(origin).running_fraction);
      }
      if (!everywhere) {
        resolved_.not_counted.push_back(found.event->name);
        continue;
      }
      resolved_.counts.emplace(found.event->name, total);
      if (running >= 0.9) continue;
      resolved_.multiplexed = true;
      resolved_.notes.push_back(
          fmt::format("{} was counted {:.0f} % of the time and scaled by perf", found.event->name,
                      100 * running));
    }
  }

  // The mean if all events are repeated alike (perf stat -r 0). Otherwise the event was opened in
  // several groups (perf stat -M), each of which estimates the same count: the first one is used.
  double ValueIn(std::size_t origin, const std::vector<double>& values) const {
    const bool repeated = values.size() > 1 && found_.size() > 1 &&
                          std::all_of(found_.begin(), found_.end(), [&](const Found& other) {
                            return Values(other, origin).size() == values.size();
                          });
    if (!repeated) return values.front();
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }

  const RecordedCounts& recorded_;
  const std::map<std::size_t, PerOrigin> selected_;
  std::vector<Found> found_;
  std::set<std::size_t> complete_, partial_;
  std::size_t idle_ = 0;
  ResolvedCounts resolved_;
};

}  // namespace

ResolvedCounts ResolveCounts(const TopdownTable& table, const RecordedCounts& recorded,
                             const CountSelection& selection) {
  ResolvedCounts resolved = Resolution(table, recorded, selection).Take();
  int runs = 0;
  for (const CountOrigin& origin : recorded.origins) runs = std::max(runs, origin.run);
  if (runs > 0) {
    resolved.notes.push_back(fmt::format(
        "the file has {} recordings: the shares are of all of them together", runs + 1));
  }
  if (recorded.means)
    resolved.notes.push_back("the counts are means of repeated runs (perf stat -r)");
  return resolved;
}

}  // namespace topdnn
