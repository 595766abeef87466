#include "bench/profile/limits/stage_balance.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "harness/exact/counter.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

std::uint64_t StageShares::sum() const {
  return std::accumulate(instructions.begin(), instructions.end(), std::uint64_t{0});
}

std::vector<StageShares> CountShares(const WorkloadOptions& options, Workload& planned) {
  if (const Availability exact = ExactCounter::Probe(); !exact.works) {
    throw NothingMeasured("--balance: " + exact.reason);
  }
  PrepareWorkload(options, planned);
  TrainingImages images(options, planned);
  Plan& plan = *planned.plan;
  const ThreadWidth width(plan.threads());
  images.FillNext(plan);
  plan.Run();  // what happens only once
  images.FillNext(plan);
  const StageCalls calls(plan);
  std::vector<StageShares> shares;
  shares.reserve(calls.stages().size());
  for (const TimedStage& stage : calls.stages()) {
    if (Interrupted()) throw Interruption();
    ExactCounts counts = ExactCounter::Count(stage.run.function, stage.run.context);
    std::sort(counts.thread_instructions.begin(), counts.thread_instructions.end(),
              std::greater<>());
    shares.push_back({stage.name, std::move(counts.thread_instructions), counts.incomplete_reason});
  }
  return shares;
}

std::vector<int> WidthsUpTo(int threads) {
  std::vector<int> widths;
  for (int width = 2; width < threads; width *= 2) widths.push_back(width);
  widths.push_back(threads);
  return widths;
}

int LastWidthThatHelps(const std::vector<int>& widths, const std::vector<double>& speed_ups) {
  int last = 1;
  double speed = 1;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const double ideal = speed * widths[i] / last;
    if (speed_ups[i] - speed < (ideal - speed) / 4) break;
    last = widths[i];
    speed = speed_ups[i];
  }
  return last;
}

}  // namespace topdnn
