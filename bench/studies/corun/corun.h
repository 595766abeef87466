// `topdnn corun`: workloads that run at once, and what each of their stages loses to the others.

#ifndef TOPDNN_BENCH_STUDIES_CORUN_CORUN_H_
#define TOPDNN_BENCH_STUDIES_CORUN_CORUN_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/studies/corun/corun_counts.h"
#include "bench/studies/corun/corun_partitions.h"
#include "bench/studies/corun/corun_words.h"
#include "harness/machine/topology.h"
#include "harness/sharing/group.h"
#include "harness/sharing/member.h"
#include "harness/sharing/rounds.h"
#include "harness/statistics/status.h"

namespace topdnn {

struct CorunSettings {
  int rounds = 8;
  // Absent: kCorunWindow, or five of the longest iterations.
  std::optional<double> window_seconds = {};
  double most_seconds = 300;  // GroupOptions::most_seconds
  const std::atomic<bool>* cancel = nullptr;
  Partitions* partitions = nullptr;  // null: the caches are not divided
  CorunCounting counting = {};       // by default nothing is counted
  std::function<void(std::string_view what, double share)> progress = {};
};

inline constexpr double kCorunWindow = 0.5;

// The times of a stage, or of a whole iteration. Absent: no iteration was complete, or there are
// fewer than 6 rounds.
struct CorunTimes {
  std::string name;
  std::string pass;
  std::optional<Summary> solo = {}, shared = {};
  std::optional<Slowdown> slowdown;
  SharingVerdict verdict = SharingVerdict::kUnknown;
  CorunCounts counts = {};  // of a network

  // Seconds of an iteration that the neighbours cost.
  std::optional<double> lost() const;
};

struct CorunMember {
  std::string workload;
  std::vector<int> cpus;
  CorunTimes iteration;
  std::vector<CorunTimes> stages;  // in their order
  // kSkipped: without a slowdown. kDegraded: other programs had its CPUs for some time.
  Status status = Status::kOk;
  std::string reason;  // of another status than kOk
  // The medians over the rounds of WindowSamples::waited.
  std::optional<double> waited_alone, waited_shared;
  Partition partition = {};
  PartitionReadings readings = {};  // while all run
};

struct CorunGroup {
  std::vector<CorunMember> members;
  // The medians over the rounds of the metrics of harness/sharing/group_metrics.h, of the members
  // that have times.
  std::optional<Slowdown> stp, antt, fairness;
  std::size_t rounds = 0;  // complete ones
  double window_seconds = 0;
  bool share_cores = false;  // CpuShares::share_cores
  bool share_cpus = false;   // workloads have a CPU in common
  bool cancelled = false;
  std::vector<std::string> notes;  // PartitionPlan::notes
};

// The CPUs of each workload. Throws UsageError for CPUs that may not be used or are too few.
CpuShares CpusOfCorun(const std::vector<CorunWorkload>& workloads, const Topology& topology);

// Throws UsageError and RunFailure.
CorunGroup RunCorun(const std::vector<CorunWorkload>& workloads, const Topology& topology,
                    const CorunSettings& settings);

bool HaveCpuInCommon(const std::vector<std::vector<int>>& shares);

// The parts of a run, for other studies of workloads that run at once.
MemberPlan CorunPlanOf(const CorunWorkload& workload, const std::vector<int>& cpus,
                       const std::function<void()>& enter = {}, const CorunCounting& counting = {});
double CorunWindowOf(const Group& group, const CorunSettings& settings);

// The results of the rounds. Pure.
std::vector<CorunMember> MembersOf(const SharingRounds& rounds,
                                   const std::vector<std::vector<MemberStage>>& stages,
                                   WindowTime time);
void AddMetrics(const SharingRounds& rounds, WindowTime time, CorunGroup& group);

// One victim beside one aggressor.
struct CorunPair {
  std::string victim, aggressor;
  CorunTimes iteration;  // of the victim
  Status status = Status::kOk;
  std::string reason;
};

// Every pair of workloads, also of two equal ones, as a group of two. An interrupted matrix is
// incomplete. Throws as RunCorun.
std::vector<CorunPair> RunCorunMatrix(const std::vector<CorunWorkload>& workloads,
                                      const Topology& topology, const CorunSettings& settings);

// Without "matrix" if `matrix` is absent.
nlohmann::ordered_json CorunJson(const CorunGroup& group,
                                 const std::optional<std::vector<CorunPair>>& matrix);
// The keys of a workload, or of its times beside others.
nlohmann::ordered_json CorunMemberJson(const CorunMember& member);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_CORUN_H_
