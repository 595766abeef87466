#include "bench/studies/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/studies/compare/settings_differences.h"
#include "harness/statistics/summary.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

constexpr const char* kStep = "step";

// A stage's name and pass, and how many stages before it have the same ones.
using StageKey = std::tuple<std::string, std::string, int>;

std::vector<StageKey> KeysOf(const ComparedRun& run) {
  std::vector<StageKey> keys;
  std::set<StageKey> seen;
  for (const StageTimes& stage : run.stages) {
    StageKey key{stage.name, stage.pass, 0};
    while (!seen.insert(key).second) ++std::get<int>(key);
    keys.push_back(key);
  }
  return keys;
}

using StagesByKey = std::map<StageKey, const StageTimes*>;

StagesByKey IndexOf(const ComparedRun& run) {
  const std::vector<StageKey> keys = KeysOf(run);
  StagesByKey index;
  for (std::size_t i = 0; i < keys.size(); ++i) index[keys[i]] = &run.stages[i];
  return index;
}

// How bad a status is.
std::size_t Rank(const std::string& status) {
  constexpr std::string_view kOrder[] = {"OK", "DEGRADED", "SKIPPED", "INVALID", "FAILED"};
  const auto* const found = std::find(std::begin(kOrder), std::end(kOrder), status);
  return static_cast<std::size_t>(found - std::begin(kOrder));
}

// The times of a stage in the runs of a side; a run without the stage has none. Adds to the row the
// worst status, and the reason of the first run that is not OK. `speed` becomes the lowest beside
// the runs. Returns whether a run is not OK.
template <class Find>
bool AddSide(const std::vector<ComparedRun>& runs, const char* side, const Find& find,
             std::vector<RunTimes>& times, double& speed, ComparisonRow& row) {
  bool first = true;
  for (const ComparedRun& run : runs) {
    const StageTimes* const stage = find(run);
    times.push_back(stage == nullptr ? RunTimes{} : stage->times);
    if (stage != nullptr) speed = std::min(speed, stage->speed);
    if (stage == nullptr || stage->status.empty() || stage->status == "OK") continue;
    if (Rank(stage->status) > Rank(row.status)) row.status = stage->status;
    if (!first) continue;
    first = false;
    row.reason += fmt::format("{}{}: {}", row.reason.empty() ? "" : "; ", side, stage->reason);
  }
  return !first;
}

// The median of a stage's shares of the ceiling in the runs of a side.
template <class Find>
std::optional<double> PeakOf(const std::vector<ComparedRun>& runs, const Find& find) {
  std::vector<double> peaks;
  for (const ComparedRun& run : runs) {
    const StageTimes* const stage = find(run);
    if (stage != nullptr && stage->peak) peaks.push_back(*stage->peak);
  }
  return MedianIfAny(peaks);
}

template <class Find>
TimedPair PairOf(const ComparedCase& both, const Find& find, ComparisonRow& row) {
  TimedPair pair;
  row.status = "OK";
  pair.a_disturbed = AddSide(both.a, "A", find, pair.a, pair.a_speed, row);
  row.a_status = row.status;
  pair.b_disturbed = AddSide(both.b, "B", find, pair.b, pair.b_speed, row);
  row.a_peak = PeakOf(both.a, find);
  row.b_peak = PeakOf(both.b, find);
  return pair;
}

// The counts of a stage that both sides have.
std::vector<ComparisonRow::Count> CountsOf(const StageTimes& a, const StageTimes& b) {
  std::vector<ComparisonRow::Count> counts;
  for (const auto& [name, in_a] : a.counts) {
    for (const auto& [other, in_b] : b.counts) {
      if (name == other) counts.push_back({name, in_a, in_b});
    }
  }
  return counts;
}

// A case with its rows and what was estimated of them.
struct CaseRows {
  std::vector<ComparisonRow> rows;
  std::optional<ComparisonRow> step;
  TimeDifferences estimated;
};

CaseRows RowsOf(const ComparedCase& both, bool comparable, Comparison& comparison) {
  CaseRows result;
  std::vector<TimedPair> pairs;
  std::vector<bool> unknown;  // of a pair: it has no interval
  std::map<const ComparedRun*, StagesByKey> stages;
  for (const std::vector<ComparedRun>* runs : {&both.a, &both.b}) {
    for (const ComparedRun& run : *runs) stages[&run] = IndexOf(run);
  }
  const auto find_stage = [&stages](const ComparedRun& run, const StageKey& key) {
    const StagesByKey& index = stages.at(&run);
    const auto found = index.find(key);
    return found == index.end() ? nullptr : found->second;
  };
  for (const StageKey& key : KeysOf(both.a.front())) {
    const auto& [name, pass, number] = key;
    if (find_stage(both.b.front(), key) == nullptr) continue;
    ComparisonRow row{.case_name = both.name, .name = name, .pass = pass};
    const auto find = [&find_stage, &key = key](const ComparedRun& run) {
      return find_stage(run, key);
    };
    pairs.push_back(PairOf(both, find, row));
    const StageTimes& a = *find(both.a.front());
    const StageTimes& b = *find(both.b.front());
    pairs.back().least_spread = a.spread;
    row.counts = CountsOf(a, b);
    unknown.push_back(a.no_interval || b.no_interval);
    result.rows.push_back(std::move(row));
  }
  std::optional<TimedPair> step;
  const auto step_of = [](const ComparedRun& run) {
    return run.step.empty() ? nullptr : &run.step.front();
  };
  if (step_of(both.a.front()) != nullptr) {
    result.step = ComparisonRow{.case_name = both.name, .name = kStep, .pass = kStep};
    step = PairOf(both, step_of, *result.step);
  }
  const MachineChanges machine = CeilingChanges(both.a.front().about, both.b.front().about);
  result.estimated = EstimateDifferences(pairs, step, machine);
  const auto keep = [comparable](TimeDifference difference, bool no_interval) {
    if (comparable && !no_interval) return difference;
    difference.p.reset();
    difference.interval.reset();
    return difference;
  };
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    result.rows[i].difference = keep(result.estimated.stages[i], unknown[i]);
  }
  if (result.step) {
    const StageTimes* const b = step_of(both.b.front());
    const bool no_interval =
        step_of(both.a.front())->no_interval || (b != nullptr && b->no_interval);
    result.step->difference = keep(*result.estimated.step, no_interval);
  }
  const std::string prefix = both.name.empty() ? "" : both.name + ": ";
  for (const auto& [side, own, other] : {std::tuple{"A", &both.a.front(), &both.b.front()},
                                         std::tuple{"B", &both.b.front(), &both.a.front()}}) {
    for (const StageKey& key : KeysOf(*own)) {
      if (find_stage(*other, key) != nullptr) continue;
      comparison.differences.push_back(fmt::format(
          "{}{} only in {}: {} {}", prefix, comparison.kind == ResultKind::kTrace ? "row" : "stage",
          side, std::get<0>(key), WordsOf(std::get<1>(key))));
    }
  }
  return result;
}

// Adds the lines that are not there yet.
void AddNew(const std::vector<std::string>& lines, std::vector<std::string>& all) {
  for (const std::string& line : lines) {
    if (std::find(all.begin(), all.end(), line) == all.end()) all.push_back(line);
  }
}

// The geometric mean of the steps' ratios. Its interval is that of the mean with the cases'
// errors taken as one: they share the machine.
ComparisonRow MeanOf(const std::vector<ComparisonRow>& steps) {
  ComparisonRow mean{.name = "geometric mean of the steps", .pass = kStep};
  double a = 0, b = 0, ratio = 0, low = 0, high = 0;
  std::size_t cases = 0;
  for (const ComparisonRow& step : steps) {
    const TimeDifference& own = step.difference;
    if (!own.ratio || !own.interval) continue;
    ++cases;
    a += std::log(*own.a);
    b += std::log(*own.b);
    ratio += std::log(*own.ratio);
    low += std::log(own.interval->low);
    high += std::log(own.interval->high);
  }
  if (cases == 0) return mean;
  const auto geometric = [cases](double sum) { return std::exp(sum / static_cast<double>(cases)); };
  mean.difference.a = geometric(a);
  mean.difference.b = geometric(b);
  mean.difference.ratio = geometric(ratio);
  mean.difference.interval = Interval{.low = geometric(low), .high = geometric(high)};
  mean.difference.significant = geometric(low) > 1 || geometric(high) < 1;
  return mean;
}

std::size_t Samples(const std::vector<ComparedRun>& runs) {
  std::size_t most = 0;
  for (const ComparedRun& run : runs) {
    for (const StageTimes& stage : run.stages) most = std::max(most, stage.times.size());
  }
  return most * runs.size();
}

// What limits the comparison of a case.
void AddNotes(const ComparedCase& both, const CaseRows& rows, ResultKind kind,
              std::vector<std::string>& notes) {
  const std::string prefix = both.name.empty() ? "" : both.name + ": ";
  if (rows.step && rows.step->status != "OK") {
    notes.push_back(
        fmt::format("{}the step is {}: {}", prefix, rows.step->status, rows.step->reason));
  }
  const bool benchmark = kind == ResultKind::kGoogleBenchmark;
  const auto few = [](const ComparisonRow& row) {
    return !row.counts.empty() && !row.difference.interval;
  };
  if (!rows.rows.empty() && std::all_of(rows.rows.begin(), rows.rows.end(), few)) {
    notes.push_back(
        fmt::format("{}no row can be shown to differ: each ran fewer than {} times on a side, or "
                    "waited for CPUs there; run more steps, on an idle machine",
                    prefix, kLeastLiveRuns));
  } else if (std::min(Samples(both.a), Samples(both.b)) < 2) {
    notes.push_back(prefix + (benchmark
                                  ? "one time for each row: no difference can be shown; use "
                                    "--benchmark_repetitions=10"
                                  : "a side has no samples: no difference can be shown; measure it "
                                    "again with this version"));
  }
  if (!rows.estimated.spread) {
    notes.push_back(prefix +
                    (kind == ResultKind::kTrace
                         ? "too few rows to estimate how much runs differ from each other: no row "
                           "can be shown to differ"
                         : "too few stages to estimate how much runs differ from each other: no "
                           "stage can be shown to differ; use --rerun"));
  }
  const bool changed = std::any_of(rows.rows.begin(), rows.rows.end(), [](const auto& row) {
    return row.difference.interval.has_value();
  });
  if (changed && !rows.estimated.runs_measured && rows.estimated.spread) {
    notes.push_back(fmt::format(
        "{}one run a side: the spread between runs is that of the long {}s, {:.1f} %{}", prefix,
        kind == ResultKind::kTrace ? "row" : "stage", 100 * std::expm1(*rows.estimated.spread),
        kind == ResultKind::kTrace ? "" : "; --rerun measures it"));
  }
}

}  // namespace

std::string ComparisonRow::Label() const {
  const std::string own = pass.empty() || pass == name ? name : name + " " + WordsOf(pass);
  return case_name.empty() ? own : case_name + ": " + own;
}

std::optional<double> ComparisonRow::NormalisedRatio() const {
  if (!a_peak || !b_peak) return std::nullopt;
  return *a_peak / *b_peak;
}

std::size_t Comparison::Significant() const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [](const auto& row) { return row.difference.significant; }));
}

std::string Comparison::Verdict() const {
  if (!not_comparable.empty()) return "not comparable";
  if (step && step->difference.significant) {
    return *step->difference.ratio > 1 ? "slower" : "faster";
  }
  double change = 0;
  for (const ComparisonRow& row : rows) {
    if (row.difference.significant) change += *row.difference.b - *row.difference.a;
  }
  if (change == 0) return CannotTell() ? "cannot tell" : "same";
  return change > 0 ? "slower" : "faster";
}

bool Comparison::CannotTell() const {
  return AnyUndecided([this](const TimeDifference& difference) {
    if (difference.significant) return false;
    const Interval& interval = *difference.interval;
    return interval.high > 1 + limit || interval.low < 1 / (1 + limit);
  });
}

bool Comparison::CannotTellSlowdown() const {
  if (!not_comparable.empty()) return true;
  return AnyUndecided(
      [this](const TimeDifference& difference) { return difference.interval->high > 1 + limit; });
}

bool Comparison::AnyUndecided(const std::function<bool(const TimeDifference&)>& reaches_far) const {
  if (!not_comparable.empty()) return false;
  const auto undecided = [&](const TimeDifference& difference) {
    return !difference.interval || reaches_far(difference);
  };
  // The mean of the steps leaves out a case whose step has no interval.
  const auto unknown_step = [](const ComparisonRow& row) {
    return row.pass == kStep && !row.difference.interval;
  };
  if (step && std::any_of(rows.begin(), rows.end(), unknown_step)) return true;
  if (step) return undecided(step->difference);
  const auto timed = [](const ComparisonRow& row) { return row.difference.ratio.has_value(); };
  if (std::none_of(rows.begin(), rows.end(), timed)) return true;
  return std::any_of(rows.begin(), rows.end(), [&](const ComparisonRow& row) {
    return timed(row) && undecided(row.difference);
  });
}

bool Comparison::SlowerThan(double fraction) const {
  const auto slower = [fraction](const TimeDifference& difference) {
    return difference.interval && difference.interval->low > 1 + fraction;
  };
  const auto row_slower = [&](const ComparisonRow& row) {
    return row.difference.significant && slower(row.difference);
  };
  return (step && slower(step->difference)) || std::any_of(rows.begin(), rows.end(), row_slower);
}

Comparison CompareResults(const ComparedResults& results) {
  Comparison comparison{.kind = results.kind};
  const bool several = results.cases.size() > 1;
  std::vector<ComparisonRow> steps;
  bool shared = false;
  for (const ComparedCase& both : results.cases) {
    const auto& a = both.a.front().about;
    const auto& b = both.b.front().about;
    AddNew(SettingsDifferences(a, b), comparison.differences);
    AddNew(CeilingDifferences(a, b), comparison.ceilings);
    const std::string why = WhyNotComparable(a, b);
    if (!why.empty()) comparison.not_comparable = why;
    CaseRows rows = RowsOf(both, why.empty(), comparison);
    AddNotes(both, rows, results.kind, comparison.notes);
    shared = shared || !rows.rows.empty();
    if (rows.step) steps.push_back(*rows.step);
    comparison.rows.insert(comparison.rows.end(), std::make_move_iterator(rows.rows.begin()),
                           std::make_move_iterator(rows.rows.end()));
  }
  if (!shared) {
    throw UsageError("A and B have no stage in common: compare results of the same network");
  }
  AddNew(results.unpaired, comparison.differences);
  std::vector<TimeDifference*> tested;
  if (several) {
    comparison.rows.insert(comparison.rows.end(), steps.begin(), steps.end());
  } else if (!steps.empty()) {
    comparison.step = steps.front();
    tested.push_back(&comparison.step->difference);
  }
  for (ComparisonRow& row : comparison.rows) tested.push_back(&row.difference);
  Judge(tested);
  if (several && !steps.empty()) comparison.step = MeanOf(steps);
  return comparison;
}

}  // namespace topdnn
