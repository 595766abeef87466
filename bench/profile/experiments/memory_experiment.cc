// The memory experiment (harness/experiments/memory_experiment.h) on a plan: which of its memory
// may be remapped, and what the result adds to the records.

#include "harness/experiments/memory_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/profile/experiments.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/stage_calls.h"
#include "harness/bounds/core_work.h"
#include "harness/exact/counter.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

namespace {

// Whether a buffer keeps its own pages. Labels, and what a forward pass saves (places of maxima,
// masks), decide where a kernel writes. Counts of steps are no floating-point numbers. A batch
// normalization reads the variance that it has written, which must stay positive.
bool IsKept(const Buffer& buffer) {
  return buffer.role == BufferRole::kLabels || buffer.role == BufferRole::kSaved ||
         buffer.role == BufferRole::kState || buffer.role == BufferRole::kStatistic;
}

// Whether the scratch memory of the stage's kernel decides where it writes. A kernel of oneDNN has
// barriers and lists of addresses there. A kernel that recomputes what forward did not save has the
// places of maxima there.
bool KeepsScratch(const Stage& stage) {
  const bool converts = stage.kernel->converts_to().has_value();  // by reorders of oneDNN
  return stage.backend == "onednn" || converts || stage.execution.recomputes;
}

// The memory that keeps its own pages, by stage. Memory that belongs to no buffer of the plan is
// scratch memory.
std::vector<std::vector<std::span<const std::byte>>> KeptMemory(
    const Plan& plan, const std::vector<std::span<std::byte>>& memory) {
  std::vector<std::span<const std::byte>> kept;
  for (std::size_t i = 0; i < plan.buffers().size(); ++i) {
    const Buffer& buffer = plan.buffers()[i];
    if (!IsKept(buffer)) continue;
    const auto* data = static_cast<const std::byte*>(plan.Data(static_cast<BufferId>(i)));
    kept.emplace_back(data, buffer.desc.bytes());
  }
  std::vector<std::span<const std::byte>> kept_with_scratch = kept;
  const std::vector<std::span<const std::byte>> blocks = plan.BufferMemory();
  for (const std::span<std::byte> own : memory) {
    const bool is_block = std::any_of(blocks.begin(), blocks.end(), [&own](const auto& block) {
      return block.data() == own.data();
    });
    if (!is_block) kept_with_scratch.emplace_back(own);
  }
  std::vector<std::vector<std::span<const std::byte>>> by_stage;
  for (const Stage& stage : plan.stages()) {
    by_stage.push_back(KeepsScratch(stage) ? kept_with_scratch : kept);
  }
  return by_stage;
}

bool ComputesInF32(const Plan& plan) {
  return std::all_of(plan.stages().begin(), plan.stages().end(),
                     [](const Stage& stage) { return stage.execution.type == DataType::kF32; });
}

// The share of the step's time that waits for memory: the mean of the stages' shares, weighted by
// their times. The share of a stage without a result may be anything from 0 to 1. Absent if no
// stage has a result.
std::optional<Interval> MemoryOfStep(const std::vector<Record>& stages) {
  double total = 0;
  double low = 0;
  double high = 0;
  bool any = false;
  for (const Record& stage : stages) {
    if (!stage.seconds) continue;
    const double seconds = stage.seconds->median;
    total += seconds;
    if (!stage.topdown_experiment) {
      high += seconds;
      continue;
    }
    const Bound& memory = stage.topdown_experiment->at("Memory_Bound");
    low += seconds * memory.low;
    high += seconds * memory.high;
    any = true;
  }
  if (!any || !(total > 0)) return std::nullopt;
  return Interval{low / total, high / total};
}

// Properties of the machine that widen the interval of a stage.
struct MemoryContext {
  MemoryRegime regime = MemoryRegime::kInNetwork;
  double hertz = 0;                  // of the core's clock; 0: not known
  double dram_bytes_per_second = 0;  // 0: not known
  double harmless_bytes = 0;         // kept bytes that L2 can hold beside a footprint
};

MemoryDoubt DoubtOf(const StageMemory& measured, const MemoryContext& here) {
  MemoryDoubt doubt;
  if (measured.code_bytes && here.hertz > 0) {
    doubt.cold_code_seconds = ColdCodeSeconds(*measured.code_bytes, here.hertz);
  }
  const auto kept = static_cast<double>(measured.kept_bytes);
  if (kept > here.harmless_bytes) {
    doubt.kept_seconds = here.dram_bytes_per_second > 0 ? kept / here.dram_bytes_per_second
                                                        : std::numeric_limits<double>::infinity();
  }
  return doubt;
}

// The bounds of the other nodes: those of the record, or else the wider ones of a disturbed run.
// Empty if there are none.
TopdownBounds OtherNodes(const BoundsMachine& machine, const MemoryContext& here,
                         const Record& record) {
  if (record.topdown_bounds) return *record.topdown_bounds;
  const std::optional<CoreWork> work = CoreWorkOf(record.events);
  if (!work || here.regime != MemoryRegime::kInNetwork) return {};
  const Disturbance& seen = machine.seen;
  CoreTime time;
  time.seconds = record.seconds->min;
  time.threads = machine.rates ? machine.rates->threads : 1;
  time.hertz_high = std::max(seen.core_hertz_before.value_or(0), seen.core_hertz_after.value_or(0));
  return BoundDisturbed(*work, time, machine.pipeline);
}

void AddStage(const StageMemory& measured, const MemoryContext& here, const BoundsMachine& machine,
              Record& record) {
  record.experiment_reason = WhyNoResult(record);
  if (!record.experiment_reason.empty()) return;
  if (!measured.reason.empty()) {
    record.experiment_reason = measured.reason;
    return;
  }
  const std::optional<MemoryShares> shares =
      SharesOf(measured.rounds, here.regime, DoubtOf(measured, here));
  if (!shares) {
    record.experiment_reason = "too few rounds for an interval";
    return;
  }
  const TopdownBounds others = OtherNodes(machine, here, record);
  record.topdown_experiment = SplitOf(*shares, others.empty() ? nullptr : &others);
}

// oneDNN's sgemm damages its own heap when several threads of Eigen's pool call it on a footprint
// (seen with oneDNN 2.6.3; one thread, and Eigen's own products, work).
bool CallsSgemmFromThreads(const Plan& plan) {
  return plan.threads() > 1 &&
         std::any_of(plan.stages().begin(), plan.stages().end(),
                     [](const Stage& stage) { return stage.backend == "eigen-sgemm"; });
}

void CheckMemorySubject(const ExperimentSubject& subject) {
  if (CallsSgemmFromThreads(subject.plan)) {
    throw UsageError(
        "--experiment memory: eigen-sgemm is not supported on several threads; give --threads 1 or "
        "--backend eigen");
  }
  std::string why = WhyNoRemapping();
  if (why.empty() && FootprintsFor(subject.topology.caches, subject.plan.threads()).empty()) {
    why = "the size of the L2 cache is not known";
  }
  if (!why.empty()) throw NothingMeasured("--experiment memory: " + why);
  std::size_t bytes = 0;
  for (const std::span<std::byte> memory : LiveAlignedMemory()) bytes += memory.size();
  RequireMemory(bytes, "the copies of --experiment memory", "use a smaller --batch");
}

MemoryRegime MemoryRegimeOf(const ProfileSettings& settings) {
  return settings.regime == Regime::kInNetwork ? MemoryRegime::kInNetwork : MemoryRegime::kHot;
}

MemoryExperiment RunOn(const ExperimentSubject& on) {
  const ThreadWidth width(on.plan.threads());
  const StageCalls calls(on.plan);
  MemorySubject subject;
  subject.stages = calls.stages();
  subject.memory = LiveAlignedMemory();
  subject.keep = KeptMemory(on.plan, subject.memory);
  subject.threads = on.plan.threads();
  auto feed = [&on] { on.images.FillNext(on.plan); };
  subject.before_iteration = Action::Of(feed);
  subject.f32 = ComputesInF32(on.plan);
  MemoryExperimentOptions options;
  options.seconds = 2 * on.settings.seconds;
  options.regime = MemoryRegimeOf(on.settings);
  options.compare_instructions = ExactCounter::Probe().works;
  options.cancel = on.settings.cancel;
  options.progress = on.settings.progress;
  MemoryExperiment experiment = RunMemoryExperiment(subject, on.topology.caches, options);
  ThrowOnRunFailure();
  return experiment;
}

void AddTo(const MemoryExperiment& experiment, const BoundsMachine& machine, MemoryRegime regime,
           Report& report) {
  if (experiment.stages.size() != report.stages.size()) return;  // interrupted
  MemoryContext here;
  here.regime = regime;
  here.hertz = machine.seen.core_hertz_before.value_or(0);
  if (const std::optional<Roof> dram = BandwidthRoof(machine.ceilings, "dram")) {
    here.dram_bytes_per_second = dram->value;
  }
  constexpr double kHarmless = 0.25;
  here.harmless_bytes = kHarmless * static_cast<double>(experiment.footprints.front().shared);
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    AddStage(experiment.stages[i], here, machine, report.stages[i]);
  }
  const std::optional<Interval> memory = MemoryOfStep(report.stages);
  if (!memory || !report.step.seconds) return;
  const TopdownBounds others = OtherNodes(machine, here, report.step);
  TopdownBounds split = SplitOf({.memory = *memory, .last_level = {}, .dram = {}},
                                others.empty() ? nullptr : &others);
  split["Memory_Bound"].basis = "experiment: the stages', by their time";
  report.step.topdown_experiment = std::move(split);
}

AddExperiment RunMemory(const ExperimentSubject& subject) {
  return [experiment = RunOn(subject), regime = MemoryRegimeOf(subject.settings)](
             const BoundsMachine& machine, Report& report) {
    AddTo(experiment, machine, regime, report);
  };
}

const ExperimentRegistration kMemory(
    {.name = "memory",
     .help = "how much of each stage waits for memory, by running it on memory that L2 holds "
             "as a whole",
     .regimes = {Regime::kInNetwork, Regime::kIsolatedHot},
     .check = CheckMemorySubject,
     .run = RunMemory,
     .by_default = true});

}  // namespace

}  // namespace topdnn
