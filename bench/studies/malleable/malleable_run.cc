#include "bench/studies/malleable/malleable_run.h"

#include <fmt/format.h>
#include <omp.h>

#include "bench/studies/malleable/width_kernels_maker.h"
#include "bench/workload/stage_calls.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

MalleableRun::MalleableRun(const WorkloadOptions& options, Workload& workload,
                           WidthControl& control)
    : workload_(workload),
      control_(control),
      images_(options, workload),
      first_{workload.plan->SaveState(), 0},
      maker_(std::make_unique<WidthKernelsMaker>(*workload.plan, control.most())),
      stage_seconds_(workload.plan->stages().size()) {
  changes_.reserve(kMaxLoggedChanges);
  kernels_ = &maker_->Await(control_.width());
  control_.ReportWidth(kernels_->threads());
}

MalleableRun::~MalleableRun() = default;

void MalleableRun::Prepare(int width) { maker_->Await(width); }

// Between two stages: takes the kernels of the width that is asked for, if they are ready.
void MalleableRun::Follow(std::size_t stage) noexcept {
  const int width = control_.width();
  if (width == kernels_->threads()) return;
  const WidthKernels* const next = maker_->FindOrAsk(width);
  if (next == nullptr) return;
  const int before = kernels_->threads();
  kernels_ = next;
  ++change_count_;
  if (changes_.size() < kMaxLoggedChanges) {
    changes_.push_back({before, width, started_ - 1, stage, std::chrono::steady_clock::now()});
  }
  control_.ReportWidth(width);
}

void MalleableRun::RunStage(std::size_t stage) noexcept {
  Follow(stage);
  const int width = kernels_->WidthOf(stage);
  if (width != openmp_width_) {
    omp_set_num_threads(width);
    openmp_width_ = width;
  }
  kernels_->RunStage(stage);
  ++stage_runs_;
}

MalleableStep MalleableRun::Step(const std::function<void(std::size_t stage)>& before_stage) {
  using Clock = std::chrono::steady_clock;
  Feed();
  ++started_;
  const std::int64_t changes_before = change_count_;
  openmp_width_ = kernels_->threads();
  const ThreadWidth width(openmp_width_);  // restores this thread's own width afterwards
  const Clock::time_point begin = Clock::now();
  Clock::time_point mark = begin;
  for (std::size_t stage = 0; stage < stage_seconds_.size(); ++stage) {
    if (before_stage) before_stage(stage);
    RunStage(stage);
    const Clock::time_point now = Clock::now();
    stage_seconds_[stage] = std::chrono::duration<double>(now - mark).count();
    mark = now;
  }
  ++completed_;
  control_.ReportIterations(completed_);
  return {std::chrono::duration<double>(mark - begin).count(), kernels_->threads(),
          static_cast<int>(change_count_ - changes_before)};
}

std::optional<double> MalleableRun::Loss() const {
  const Plan& plan = *workload_.plan;
  if (!plan.Has(BufferRole::kLabels)) return std::nullopt;
  return plan.Read(plan.FindByName("loss")).front();
}

std::vector<double> MalleableRun::Output() const {
  const Plan& plan = *workload_.plan;
  return plan.Read(plan.Find(BufferRole::kOutput));
}

std::vector<std::string> MalleableRun::Remarks() const {
  std::vector<std::string> remarks = maker_->Failures();
  for (const WidthKernels* kernels : maker_->All()) {
    for (const WidthKernels::Kept& kept : kernels->kept()) {
      remarks.push_back(fmt::format("{} at width {} runs on {} threads: {}",
                                    LabelOf(plan().stages()[kept.stage]), kernels->threads(),
                                    plan().threads(), kept.reason));
    }
  }
  return remarks;
}

void MalleableRun::Feed() {
  images_.FillNext(*workload_.plan);
  ++next_;
}

void MalleableRun::Return(const Moment& moment) {
  workload_.plan->RestoreState(moment.state);
  images_.GoTo(moment.step);
  next_ = moment.step;
}

}  // namespace topdnn
