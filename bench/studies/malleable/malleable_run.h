// A run of a network whose width (number of threads) changes between two stages of a step, without
// a restart: nothing is computed twice, and nothing is lost.
//
// The plan is made once, for the largest width. Each other width has its own kernels on the plan's
// buffers (networks/plan/width_kernels.h). They are made when the width is first asked for, by a
// thread in the background. Until they are ready, the run continues at the width that it has.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_RUN_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_RUN_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/images.h"
#include "bench/workload/workload.h"
#include "harness/width/width_control.h"
#include "networks/plan/width_kernels.h"

namespace topdnn {

// A change of the width in effect.
struct WidthChange {
  int from = 0;
  int to = 0;
  std::int64_t step = 0;  // from 0
  std::size_t stage = 0;  // the first one at the new width
  std::chrono::steady_clock::time_point when;
};

// A complete step. Feeding it with a batch is not part of its time.
struct MalleableStep {
  double seconds = 0;
  int width = 0;    // at its end
  int changes = 0;  // of the width, in it
};

// Makes the kernels of each width when it is asked for.
class WidthKernelsMaker;

class MalleableRun {
 public:
  // The workload is allocated (MakeWorkload), for threads of `control.most()`. Steps begin at the
  // width that `control` has. All parts of a run belong to the thread that makes it.
  MalleableRun(const WorkloadOptions& options, Workload& workload, WidthControl& control);
  ~MalleableRun();
  MalleableRun(const MalleableRun&) = delete;
  MalleableRun& operator=(const MalleableRun&) = delete;

  // Makes the kernels of this width now. Throws std::runtime_error if that fails.
  void Prepare(int width);

  // Feeds the next batch and runs all stages. Before each stage, calls `before_stage` with its
  // index, if it is given.
  MalleableStep Step(const std::function<void(std::size_t stage)>& before_stage = nullptr);
  void Feed();

  // The seconds of the stages of the last step.
  const std::vector<double>& stage_seconds() const { return stage_seconds_; }
  const Plan& plan() const { return *workload_.plan; }
  // Of the last step; absent in inference.
  std::optional<double> Loss() const;
  // The result of the last step: the logits.
  std::vector<double> Output() const;

  // The changes so far; if there are more than kMaxLoggedChanges, the first ones.
  const std::vector<WidthChange>& changes() const { return changes_; }
  std::int64_t change_count() const { return change_count_; }
  // Steps that began, and those that ended. They differ only while a step runs.
  std::int64_t started() const { return started_; }
  std::int64_t completed() const { return completed_; }
  // Stages that ran, in all steps.
  std::int64_t stage_runs() const { return stage_runs_; }
  // Stages that run at another width than asked for, and widths without kernels: one entry each,
  // with the reason.
  std::vector<std::string> Remarks() const;

  // A moment to which a run can return: the parameters, the optimizer's state and the step of the
  // next batch. first() is the moment when the run was made.
  struct Moment {
    std::vector<std::byte> state;
    std::int64_t step = 0;
  };
  const Moment& first() const { return first_; }
  Moment Now() const { return {workload_.plan->SaveState(), next_}; }
  void Return(const Moment& moment);

  static constexpr std::size_t kMaxLoggedChanges = 1 << 16;

 private:
  void Follow(std::size_t stage) noexcept;
  void RunStage(std::size_t stage) noexcept;

  Workload& workload_;
  WidthControl& control_;
  TrainingImages images_;
  Moment first_;
  std::int64_t next_ = 0;  // the step whose batch is the next one
  std::unique_ptr<WidthKernelsMaker> maker_;
  const WidthKernels* kernels_ = nullptr;  // of the width in effect
  int openmp_width_ = 0;                   // of this thread, in a step
  std::vector<double> stage_seconds_;
  std::vector<WidthChange> changes_;
  std::int64_t change_count_ = 0;
  std::int64_t started_ = 0;
  std::int64_t completed_ = 0;
  std::int64_t stage_runs_ = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_RUN_H_
