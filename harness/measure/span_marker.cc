#include "harness/measure/span_marker.h"

#include <algorithm>

namespace topdnn {

namespace {

// Of a brief reading of both probes, before the first one.
constexpr double kProbeSeconds = 2e-3;
constexpr double kAccountSeconds = 0.3e-3;
// The accounts of the hypervisor have a resolution of 10 ms.
constexpr double kLeastSeconds = 0.05;

}  // namespace

SpanMarker::SpanMarker(const MeasureOptions& options, const TickClock& clock,
                       const KernelAccounts& before, double step_seconds,
                       std::vector<SpanMark>& marks)
    : options_(options),
      clock_(clock),
      accounts_(before),
      step_seconds_(step_seconds),
      cost_seconds_(options.speeds ? kProbeSeconds + step_seconds : kAccountSeconds),
      last_(clock.now()),
      marks_(marks) {}

bool SpanMarker::IsDue(std::int64_t iteration) const {
  const double elapsed = clock_.SecondsBetween(last_, clock_.now()).value_or(0);
  return iteration > 0 && elapsed >= std::max(kLeastSeconds, cost_seconds_ / kMarkShare);
}

void SpanMarker::Add(std::int64_t iteration, bool brief) {
  SpanMark mark{.iteration = iteration};
  KernelAccounts now = ReadKernelAccounts();
  Disturbance spent;
  AddSpent(accounts_, now, spent);
  if (spent.machine_time && spent.machine_time->wanted > 0) {
    mark.stolen = static_cast<double>(spent.machine_time->stolen) /
                  static_cast<double>(spent.machine_time->wanted);
  }
  if (spent.throttled_seconds && *spent.throttled_seconds > 0) {
    // Both are sums: over the CPUs that were stopped, and over the threads that ran.
    const double ran = spent.scheduler_time
                           ? 1e-9 * static_cast<double>(spent.scheduler_time->running)
                           : clock_.SecondsBetween(last_, clock_.now()).value_or(0);
    mark.throttled = *spent.throttled_seconds / (*spent.throttled_seconds + ran);
  }
  if (options_.speeds) mark.speed = options_.speeds(brief);
  accounts_ = ReadKernelAccounts();
  marks_.push_back(mark);
}

}  // namespace topdnn
