// What a group of workloads achieves together, from the time of each alone and with the others:
// the metrics of Eyerman and Eeckhout, "System-Level Performance Metrics for Multiprogram
// Workloads", IEEE Micro 28(3), 2008. Pure.

#ifndef TOPDNN_HARNESS_SHARING_GROUP_METRICS_H_
#define TOPDNN_HARNESS_SHARING_GROUP_METRICS_H_

#include <optional>
#include <span>

namespace topdnn {

// Seconds of one iteration of a workload. Its normalised progress is solo / shared.
struct SharingTimes {
  double solo = 0;
  double shared = 0;
};

// STP, system throughput: the sum of the normalised progress. The number of workloads if none loses
// anything. Absent for no workloads, or if a time is not positive; so are the other two.
std::optional<double> SystemThroughput(std::span<const SharingTimes> workloads);

// ANTT, average normalised turnaround time: the mean of shared / solo. 1 if none loses anything.
std::optional<double> AverageTurnaround(std::span<const SharingTimes> workloads);

// The least normalised progress divided by the largest: 1 if all lose the same.
std::optional<double> Fairness(std::span<const SharingTimes> workloads);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_GROUP_METRICS_H_
