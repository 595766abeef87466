#include "bench/profile/limits/stage_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "harness/bounds/core_work.h"
#include "harness/experiments/memory_times.h"
#include "harness/results/groups.h"
#include "harness/results/validity.h"

namespace topdnn {

namespace {

// Whether the records were timed by themselves, repeatedly.
bool IsHot(const Record& record) { return record.regime == "isolated-hot"; }

// The time of a record that other work disturbed is between its least and its median.
Interval TimeOf(const Record& record) {
  const Summary& seconds = *record.seconds;
  return {record.status == Status::kOk ? seconds.median : seconds.min, seconds.median};
}

CoreTime ClockOf(const BoundsMachine& machine, const Record& record) {
  CoreTime time = CoreTimeOf(machine);
  if (record.regime == machine.regime) return time;
  // The clock was read around the run in the network.
  constexpr double kDrift = 0.02;
  time.hertz_low *= 1 - kDrift;
  time.hertz_high *= 1 + kDrift;
  return time;
}

// Waiting for threads is in the time of a call, but not in that of the core. It differs from call
// to call.
constexpr double kWaitingVaries = 0.5;

// Seconds of a call with hot code and all data in L1, at least.
double LeastCore(const CoreResult& core) {
  return core.core_seconds.low + (1 - kWaitingVaries) * core.waiting_seconds;
}

// The share of the time beyond L1. In the network, code may be cold as well, and that is no wait
// for data. What a repeated call waits for, the call in the network waits for, too. If a repeated
// call takes longer, the machine may have been slower during the experiment, which then shows too
// much of the core, or its data may be farther away than in the network.
Interval BeyondL1(const CoreResult& core, const Record& record, double hertz) {
  if (IsHot(record)) return core.beyond_l1;
  const Interval time = TimeOf(record);
  const auto code = record.Event("exact/code_bytes");
  const double repeated = core.beyond_l1.low * std::min(1.0, core.translated_seconds / time.high);
  const double cold = code && hertz > 0 ? ColdCodeSeconds(*code, hertz) : time.low;
  const double least_core = LeastCore(core);
  const double most_core = core.core_seconds.high + (1 + kWaitingVaries) * core.waiting_seconds;
  const double low = std::max(repeated, 1 - (most_core + cold) / time.low);
  const double high = 1 - least_core / time.high;
  const double high_if_slower = 1 - least_core / std::max(time.high, core.native_seconds);
  return {std::clamp(std::min(low, high), 0.0, 1.0), std::clamp(high_if_slower, 0.0, 1.0)};
}

// Threads of a product of matrices wait for each other's flags in loops that only load (OpenBLAS,
// driver/level3/level3_thread.c; oneDNN, src/cpu/x64/gemm/gemm_driver.cpp).
bool WaitsByLoads(const Record& record) {
  return record.backend == "openblas" || record.op == "inner_product" || record.op == "matmul" ||
         record.op == "gemm";
}

// The share was measured over repeated calls. In the network a call takes longer, and the threads
// may wait as long as there, or as much longer as the call takes. ASSUMED: barriers within a
// kernel, which are not seen, wait at most as long again; without an instruction to wait with, it
// has none.
std::optional<Interval> WaitingOf(const Record& record) {
  constexpr double kOwnBarriers = 2;
  if (!record.waiting) return std::nullopt;
  Interval waiting = *record.waiting;
  if (WaitsByLoads(record) || record.Event("exact/synchronizing_instructions") != 0) {
    waiting.high = std::min(1.0, kOwnBarriers * waiting.high);
  }
  if (!IsHot(record) && record.core_experiment) {
    waiting.low *= std::min(1.0, record.core_experiment->native_seconds / TimeOf(record).high);
  }
  return waiting;
}

std::optional<Interval> ExperimentOf(const Record& record, const char* node) {
  if (!record.topdown_experiment) return std::nullopt;
  const auto found = record.topdown_experiment->find(node);
  if (found == record.topdown_experiment->end()) return std::nullopt;
  return Interval{found->second.low, found->second.high};
}

std::optional<CountedShares> CountedOf(const BoundsMachine& machine, const Record& record) {
  std::optional<CoreWork> work = CoreWorkOf(record.events);
  if (!work) return std::nullopt;
  const HotLoops* hot = record.hot ? &*record.hot : nullptr;
  if (hot != nullptr && hot->most_slots && hot->instructions > 0 &&
      AgreesWithSlots(*hot->dispatch_width, machine.pipeline)) {
    work->most_slots =
        *hot->most_slots * work->instructions / static_cast<double>(hot->instructions);
  }
  const CoreTime clock = ClockOf(machine, record);
  if (record.core_experiment && record.core_experiment->delivery_seconds) {
    const CoreResult& core = *record.core_experiment;
    const double cycles_per_second = clock.hertz_high * clock.threads;
    work->delivery_cycles = *core.delivery_seconds * cycles_per_second;
    // (the machine may have been slower during the experiment)
    const double longest = std::max(TimeOf(record).high, core.native_seconds);
    work->cold_cycles = std::max(0.0, longest - LeastCore(core)) * cycles_per_second;
  }
  return CountShares(*work, clock, TimeOf(record), machine.pipeline,
                     machine.rates.value_or(CoreRates{}));
}

TreeEvidence EvidenceOf(const BoundsMachine& machine, const Record& record,
                        const std::optional<CountedShares>& counted) {
  TreeEvidence evidence;
  evidence.threads = machine.rates ? machine.rates->threads : 1;
  if (counted) {
    evidence.retiring = counted->retiring;
    evidence.core = counted->core;
    evidence.bad_speculation = Interval{0, counted->bad_speculation};
    evidence.frontend = counted->frontend;
    evidence.lost = counted->lost;
  }
  if (record.core_experiment) {
    evidence.beyond_l1 =
        BeyondL1(*record.core_experiment, record, ClockOf(machine, record).hertz_low);
  }
  evidence.waiting = WaitingOf(record);
  evidence.beyond_l2 = ExperimentOf(record, "Memory_Bound");
  evidence.l3 = ExperimentOf(record, "L3_Bound");
  evidence.dram = ExperimentOf(record, "DRAM_Bound");
  if (record.topdown) evidence.read = &*record.topdown;
  return evidence;
}

// "memory: too short: 3.1 us; core: ...": why the experiments have no result for the record.
std::string WhyNoExperiment(const Record& record) {
  std::string why = record.experiment_reason;
  if (!record.core_reason.empty() && record.core_reason != why) {
    why += (why.empty() ? "" : "; ") + record.core_reason;
  }
  return why;
}

void Choose(const std::optional<CountedShares>& counted, Record& record) {
  BoundByEvidence evidence;
  if (record.tree) evidence.tree = &*record.tree;
  evidence.peak_fraction = record.PeakFraction();
  if (record.hot) evidence.binding = record.hot->binding;
  if (counted) {
    evidence.busiest = counted->busiest;
    evidence.busy = counted->busy;
  }
  BoundByOrReason chosen = ChooseBoundBy(evidence);
  record.bound_by = std::move(chosen.bound_by);
  record.bound_by_reason = std::move(chosen.reason);
  if (!record.bound_by && !record.tree) record.bound_by_reason = record.tree_reason;
}

// The roofs apply to the levels that the stage waits for.
void AgreeWithTree(Record& record) {
  constexpr double kWaits = 0.1;
  if (!record.roofline || !record.tree) return;
  const std::optional<NodeShare>& dram = (*record.tree)[TreeNode::kDramBound];
  if (!dram || record.roofline->dram_applies || dram->low < kWaits) return;
  record.roofline->dram_applies = true;
  const std::optional<Roof> lowest = record.roofline->attainable();
  // What the caches keep is not known, so neither is the roof.
  if (!record.roofline->dram ||
      (lowest && record.roofline->flops_per_second() > kMaxPeakFraction * lowest->value)) {
    record.roofline->withheld = true;
  }
}

std::vector<TreePart> PartsOf(const Report& report, const std::string& group) {
  std::vector<TreePart> parts;
  for (const Record& stage : report.stages) {
    if (!stage.seconds || (!group.empty() && GroupOfPass(stage.pass) != group)) continue;
    parts.push_back(
        {.seconds = stage.seconds->median, .tree = stage.tree ? &*stage.tree : nullptr});
  }
  return parts;
}

}  // namespace

void AddTree(const BoundsMachine& machine, Record& record) {
  record.tree.reset();
  record.bound_by.reset();
  if (record.status >= Status::kInvalid || !record.seconds || !(record.seconds->median > 0)) {
    record.tree_reason = record.status >= Status::kInvalid
                             ? fmt::format("the record is {}", NameOf(record.status))
                             : "there is no time";
    record.bound_by_reason = record.tree_reason;
    return;
  }
  if (!record.denormals.empty()) {  // the counts assume that no operation is slow because of values
    record.tree_reason = record.bound_by_reason = record.denormals;
    return;
  }
  const std::optional<CountedShares> counted = CountedOf(machine, record);
  TreeOrReason made = BuildTree(EvidenceOf(machine, record, counted));
  record.tree = made.tree;
  record.tree_reason = std::move(made.reason);
  if (!record.tree) {
    const std::string why = WhyNoExperiment(record);
    if (!why.empty()) record.tree_reason += "; " + why;
  }
  Choose(counted, record);
  AgreeWithTree(record);
}

void AddTrees(const BoundsMachine& machine, Report& report) {
  for (Record& stage : report.stages) AddTree(machine, stage);
  for (GroupSummary& group : report.groups) {
    group.tree = SumOfTrees(PartsOf(report, group.name));
    group.bound_by = ChooseBoundBy({.tree = group.tree ? &*group.tree : nullptr,
                                    .peak_fraction = group.peak_fraction})
                         .bound_by;
  }
  Record& step = report.step;
  step.tree.reset();
  step.tree_reason.clear();
  if (step.status >= Status::kInvalid) {
    step.tree_reason = fmt::format("the record is {}", NameOf(step.status));
  } else {
    const std::vector<TreePart> parts = PartsOf(report, "");
    const bool any = std::any_of(parts.begin(), parts.end(),
                                 [](const TreePart& part) { return part.tree != nullptr; });
    step.tree = SumOfTrees(parts);
    if (!step.tree) {
      step.tree_reason =
          any ? "the trees of its stages contradict each other" : "no stage has a tree";
    }
  }
  Choose(std::nullopt, step);
}

}  // namespace topdnn
