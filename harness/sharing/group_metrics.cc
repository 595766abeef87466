#include "harness/sharing/group_metrics.h"

#include <algorithm>

namespace topdnn {

namespace {

bool AreTimed(std::span<const SharingTimes> workloads) {
  return !workloads.empty() &&
         std::all_of(workloads.begin(), workloads.end(),
                     [](const SharingTimes& times) { return times.solo > 0 && times.shared > 0; });
}

double ProgressOf(const SharingTimes& times) { return times.solo / times.shared; }

}  // namespace

std::optional<double> SystemThroughput(std::span<const SharingTimes> workloads) {
  if (!AreTimed(workloads)) return std::nullopt;
  double sum = 0;
  for (const SharingTimes& times : workloads) sum += ProgressOf(times);
  return sum;
}

std::optional<double> AverageTurnaround(std::span<const SharingTimes> workloads) {
  if (!AreTimed(workloads)) return std::nullopt;
  double sum = 0;
  for (const SharingTimes& times : workloads) sum += times.shared / times.solo;
  return sum / static_cast<double>(workloads.size());
}

std::optional<double> Fairness(std::span<const SharingTimes> workloads) {
  if (!AreTimed(workloads)) return std::nullopt;
  double least = ProgressOf(workloads.front());
  double most = least;
  for (const SharingTimes& times : workloads) {
    least = std::min(least, ProgressOf(times));
    most = std::max(most, ProgressOf(times));
  }
  return least / most;
}

}  // namespace topdnn
