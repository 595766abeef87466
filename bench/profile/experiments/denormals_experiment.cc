// The experiment on denormals: the share of them in each stage's operands, what flushing them
// changes in the results, and the times with and without flushing, in turn.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/profile/denormal_operands.h"
#include "bench/profile/experiments.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/stage_calls.h"
#include "harness/experiments/interleaved.h"
#include "harness/experiments/ratios.h"
#include "harness/measure/watched_run.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

// What flushing changes in some tensors.
struct FlushChange {
  std::size_t elements = 0, changed = 0;
  double largest = 0;

  // `count` elements of one tensor, as they lie in memory. Values that are not finite are no
  // change.
  void Compare(DataType type, const std::byte* before, const std::byte* after, std::size_t count) {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    double magnitude = 0;
    double change = 0;
    for (std::size_t first = 0; first < count; first += kBlock) {
      const std::size_t n = std::min(kBlock, count - first);
      const TensorDesc desc = {
          .shape = {static_cast<std::int64_t>(n)}, .type = type, .layout = Layout::Plain(1)};
      const std::vector<double> a = ToDouble(desc, before + first * SizeOf(type));
      const std::vector<double> b = ToDouble(desc, after + first * SizeOf(type));
      for (std::size_t i = 0; i < n; ++i) {
        if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
        changed += a[i] != b[i] ? 1 : 0;
        magnitude = std::max(magnitude, std::abs(a[i]));
        change = std::max(change, std::abs(a[i] - b[i]));
      }
    }
    elements += count;
    if (magnitude > 0) largest = std::max(largest, change / magnitude);
  }

  void AddTo(DenormalsResult& result) const {
    if (elements == 0) return;
    result.changed = static_cast<double>(changed) / static_cast<double>(elements);
    result.largest_change = largest;
  }
};

// The results of a stage, in the plan's memory.
class StageResults {
 public:
  StageResults(const Plan& plan, const Stage& stage) {
    for (const KernelOperand& operand : stage.kernel->operands()) {
      if (operand.direction == Direction::kIn) continue;
      const std::size_t bytes = operand.desc.bytes();
      auto* const data = static_cast<std::byte*>(plan.Data(stage.buffers.at(operand.arg)));
      tensors_.push_back({operand.desc.type, {data, bytes}});
    }
  }

  std::vector<std::vector<std::byte>> Copy() const {
    std::vector<std::vector<std::byte>> copies;
    for (const Tensor& tensor : tensors_) {
      copies.emplace_back(tensor.data.begin(), tensor.data.end());
    }
    return copies;
  }
  void Put(const std::vector<std::vector<std::byte>>& copies) const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      std::copy(copies[i].begin(), copies[i].end(), tensors_[i].data.begin());
    }
  }
  FlushChange Against(const std::vector<std::vector<std::byte>>& before) const {
    FlushChange change;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      if (!FloatFormatOf(tensor.type)) continue;
      change.Compare(tensor.type, before[i].data(), tensor.data.data(),
                     tensor.data.size() / SizeOf(tensor.type));
    }
    return change;
  }

 private:
  struct Tensor {
    DataType type;
    std::span<std::byte> data;
  };
  std::vector<Tensor> tensors_;
};

struct DenormalTimes {
  std::vector<DenormalsResult> stages;
  DenormalsResult step;
  ConditionTimes times;  // as found, flushed
  ConditionTimes waited;
  std::size_t flushed_before = 0, threads = 0;
};

std::string ShareText(double share) { return fmt::format("({:.3g} %)", share * 100); }

// Scans every stage of one step, and runs it once in each mode on the same operands. The step goes
// on with the results as found.
void ScanStages(Plan& plan, FlushMode& mode, DenormalTimes& measured) {
  const WatchedRun watched("the scan for denormals");
  std::string first_read, first_result;
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Stage& stage = plan.stages()[i];
    DenormalsResult& result = measured.stages.emplace_back();
    const StageResults results(plan, stage);
    const auto before = results.Copy();
    result.operands = DenormalsOf(plan, stage, false);
    for (const OperandDenormals& operand : result.operands) {
      if (!(operand.share > 0) || !first_read.empty() || !first_result.empty()) continue;
      first_read = TextOf(operand, stage) + " " + ShareText(operand.share);
    }
    mode.AsFound();
    plan.RunStage(i);
    const auto as_found = results.Copy();
    for (OperandDenormals& operand : DenormalsOf(plan, stage, true)) {
      if (operand.share > 0 && first_result.empty()) {
        first_result = TextOf(operand, stage) + " " + ShareText(operand.share);
      }
      result.operands.push_back(std::move(operand));
    }
    results.Put(before);
    mode.Flush();
    plan.RunStage(i);
    mode.AsFound();  // (the comparison would not see denormals either)
    results.Against(as_found).AddTo(result);
    results.Put(as_found);
  }
  if (first_read.empty() && first_result.empty()) return;
  measured.step.origin =
      fmt::format("{}; the first result with them: {}",
                  first_read.empty() ? "computed: no operand has them before" : first_read,
                  first_result.empty() ? "none" : first_result);
}

// What flushing changes in what a step leaves: outputs, parameters and their gradients.
void CompareSteps(Plan& plan, const std::vector<std::byte>& state, FlushMode& mode,
                  DenormalsResult& result) {
  const WatchedRun watched("the steps with and without denormals");
  plan.RestoreState(state);
  plan.Run();
  const std::vector<std::byte> as_found = plan.SaveState();
  plan.RestoreState(state);
  mode.Flush();
  plan.Run();
  mode.AsFound();
  const std::byte* const begin = plan.BufferMemory().back().data();
  FlushChange change;
  for (std::size_t i = 0; i < plan.buffers().size(); ++i) {
    const Buffer& buffer = plan.buffers()[i];
    const bool left = buffer.role == BufferRole::kOutput || buffer.role == BufferRole::kParameter ||
                      buffer.role == BufferRole::kParameterGradient;
    const auto* const data = static_cast<const std::byte*>(plan.Data(static_cast<BufferId>(i)));
    const std::size_t bytes = buffer.desc.bytes();
    if (!left || !FloatFormatOf(buffer.desc.type) || data < begin ||
        data + bytes > begin + as_found.size()) {
      continue;
    }
    change.Compare(buffer.desc.type, as_found.data() + (data - begin), data,
                   bytes / SizeOf(buffer.desc.type));
  }
  change.AddTo(result);
}

void CheckDenormalsSubject(const ExperimentSubject& subject) {
  if (const std::string why = WhyNoFlushing(); !why.empty()) {
    throw NothingMeasured("--experiment denormals: " + why);
  }
  RequireMemory(2 * subject.plan.persistent_bytes() + 2 * subject.plan.transient_bytes(),
                "the copies of --experiment denormals", "use a smaller --batch");
}

DenormalTimes MeasureDenormals(const ExperimentSubject& subject) {
  Plan& plan = subject.plan;
  const ThreadWidth width(plan.threads());
  const StageCalls calls(plan);
  const std::vector<std::byte> state = plan.SaveState();
  plan.Run();  // (starts every pool's threads)
  FlushMode mode;
  DenormalTimes measured;
  measured.flushed_before = mode.flushed_before();
  measured.threads = mode.threads();
  plan.RestoreState(state);
  ScanStages(plan, mode, measured);
  CompareSteps(plan, state, mode, measured.step);
  // Both conditions compute on the same values: a step of training would change the parameters.
  auto restore = [&] { plan.RestoreState(state); };
  const std::vector<Condition> conditions = {{.stages = calls.stages(),
                                              .before_iteration = Action::Of(restore),
                                              .enter = [&mode] { mode.AsFound(); }},
                                             {.stages = calls.stages(),
                                              .before_iteration = Action::Of(restore),
                                              .enter = [&mode] { mode.Flush(); }}};
  measured.times = RunRounds(subject, conditions, measured.waited);
  plan.RestoreState(state);
  ThrowOnRunFailure();
  return measured;
}

void AddDenormals(const DenormalTimes& measured, Report& report) {
  if (measured.stages.size() != report.stages.size()) return;  // interrupted
  AddRounds(measured.times, measured.waited, report,
            [&](std::size_t stage, const RecordRounds& own, Record& record) {
              DenormalsResult result =
                  stage < measured.stages.size() ? measured.stages[stage] : measured.step;
              result.reason = own.why_not;
              if (own.why_not.empty()) {
                result.factor = FactorOf(own.seconds.front(), own.seconds.back());
                if (!result.factor) result.reason = "too few rounds for an interval";
              }
              record.denormals_experiment = std::move(result);
            });
  if (measured.flushed_before == 0) return;
  report.notes.push_back(
      {.text = fmt::format("--experiment denormals: {} of {} threads flush denormals by "
                           "themselves: a library or a caller set it",
                           measured.flushed_before, measured.threads),
       .main = true});
}

AddExperiment RunDenormals(const ExperimentSubject& subject) {
  return [measured = MeasureDenormals(subject)](const BoundsMachine&, Report& report) {
    AddDenormals(measured, report);
  };
}

const ExperimentRegistration kDenormals(
    {.name = "denormals",
     .help =
         "the share of denormals in each stage's operands, where they come from, what they cost "
         "and what flushing them changes",
     .regimes = {Regime::kInNetwork},
     .check = CheckDenormalsSubject,
     .run = RunDenormals});

}  // namespace

}  // namespace topdnn
