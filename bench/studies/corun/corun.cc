#include "bench/studies/corun/corun.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/studies/corun/corun_network.h"
#include "bench/studies/corun/corun_topdown.h"
#include "harness/sharing/command_member.h"
#include "harness/sharing/group.h"
#include "harness/sharing/group_metrics.h"
#include "harness/sharing/probe_member.h"

namespace topdnn {

namespace {

constexpr double kIterationsInWindow = 5;
constexpr int kCountedRounds = 3;  // their counts are added up

CorunTimes TimesOf(std::string name, std::string pass, std::span<const std::optional<double>> solo,
                   std::span<const std::optional<double>> shared) {
  CorunTimes times{
      .name = std::move(name), .pass = std::move(pass), .slowdown = SlowdownOf(solo, shared)};
  times.verdict = VerdictOf(times.slowdown);
  return times;
}

// Why there is no slowdown.
std::string WhyAbsent(const CorunMember& member, std::size_t rounds) {
  if (rounds == 0) return "the run was interrupted before a round was complete";
  if (member.stages.empty()) return "it has no iterations";
  if (!member.iteration.solo || !member.iteration.shared) {
    return "no iteration began and ended within a window: set a longer --window";
  }
  return "fewer than 6 rounds have complete iterations: set a longer --window, or more --rounds";
}

// A workload that waits for a CPU while its neighbours sleep, or although no neighbour uses its
// CPUs, is disturbed by programs outside the group.
void Judge(WindowTime time, std::size_t rounds, CorunMember& member) {
  constexpr double kMostWaited = 0.02;
  if (!member.iteration.slowdown) {
    member.status = Status::kSkipped;
    member.reason = WhyAbsent(member, rounds);
    return;
  }
  double waited = member.waited_alone.value_or(0);
  if (time == WindowTime::kMedian) waited = std::max(waited, member.waited_shared.value_or(0));
  if (waited <= kMostWaited) return;
  member.status = Status::kDegraded;
  member.reason = fmt::format(
      "other programs had its CPUs for {:.0f} % of a window, so its loss is not the neighbours' "
      "alone: end them, and run it again",
      100 * waited);
}

std::optional<double> MedianWait(std::span<const WindowSamples> windows) {
  std::vector<double> waited;
  for (const WindowSamples& window : windows) {
    if (window.waited) waited.push_back(*window.waited);
  }
  return MedianIfAny(waited);
}

WindowHooks HooksOf(Partitions* partitions) {
  if (partitions == nullptr) return {};
  return {.before = [partitions](std::size_t) { partitions->BeginWindow(); },
          .after = [partitions](std::size_t kind) { partitions->EndWindow(kind); }};
}

void AddPartitions(const Partitions& partitions, CorunGroup& group) {
  const std::size_t members = group.members.size();
  for (std::size_t i = 0; i < members; ++i) {
    group.members[i].partition = partitions.plan().parts[i];
    group.members[i].readings = partitions.ReadingsOf(members, i);  // of the windows of all
  }
  group.notes = partitions.plan().notes;
}

// For each workload, the index of the first one that executes the same instructions: only that one
// is counted.
std::vector<std::size_t> FirstOfEqual(const std::vector<CorunWorkload>& workloads,
                                      const std::vector<std::vector<int>>& cpus) {
  const auto key = [&](std::size_t i) {
    const CorunWorkload& workload = workloads[i];
    const WorkloadOptions& network = workload.network;
    const auto threads = static_cast<std::size_t>(network.threads);
    return std::tuple(workload.probe, workload.command, workload.training, network.network,
                      network.batch, network.size, network.backend, network.dtype,
                      threads > 0 ? threads : cpus[i].size());
  };
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    std::size_t same = 0;
    while (key(same) != key(i)) ++same;
    first.push_back(same);
  }
  return first;
}

std::optional<Slowdown> Estimate(const std::vector<double>& by_round) {
  const std::optional<Interval> interval = MedianInterval(by_round);
  if (!interval) return std::nullopt;
  return Slowdown{.median = Median(by_round), .ci95 = *interval};
}

}  // namespace

std::optional<double> CorunTimes::lost() const {
  if (!solo || !slowdown) return std::nullopt;
  return solo->median * (slowdown->median - 1);
}

bool HaveCpuInCommon(const std::vector<std::vector<int>>& shares) {
  std::set<int> seen;
  for (const std::vector<int>& share : shares) {
    for (const int cpu : share) {
      if (!seen.insert(cpu).second) return true;
    }
  }
  return false;
}

MemberPlan CorunPlanOf(const CorunWorkload& workload, const std::vector<int>& cpus,
                       const std::function<void()>& enter, const CorunCounting& counting) {
  MemberPlan plan{.name = fmt::format("workload '{}'", workload.words), .cpus = cpus, .make = {}};
  plan.make = [workload, enter, counting](const MemberPlace& place) -> std::unique_ptr<Member> {
    if (enter) enter();
    if (!workload.command.empty()) return MakeCommandMember(workload.command, place);
    if (workload.probe.empty()) {
      return MakeNetworkMember(workload.network, workload.training, counting);
    }
    const int threads = workload.network.threads;
    return MakeProbeMember(workload.probe,
                           threads > 0 ? threads : static_cast<int>(place.cpus.size()));
  };
  return plan;
}

double CorunWindowOf(const Group& group, const CorunSettings& settings) {
  double seconds = kCorunWindow;
  for (std::size_t i = 0; i < group.size(); ++i) {
    seconds = std::max(seconds, kIterationsInWindow * group.iteration_seconds(i));
  }
  return settings.window_seconds.value_or(seconds);
}

CpuShares CpusOfCorun(const std::vector<CorunWorkload>& workloads, const Topology& topology) {
  std::vector<CpuWish> wishes;
  for (const CorunWorkload& workload : workloads) {
    wishes.push_back(workload.wish);
    for (const int cpu : workload.wish.cpus) {
      const auto& allowed = topology.allowed;
      if (std::find(allowed.begin(), allowed.end(), cpu) != allowed.end()) continue;
      throw UsageError(fmt::format("workload '{}': cpus {}: this process may use the CPUs {}",
                                   workload.words, cpu, fmt::join(allowed, ",")));
    }
  }
  const auto shares = ShareCpus(topology.cpus_of_cores, wishes);
  if (shares) return *shares;
  throw UsageError(fmt::format(
      "{} workloads, with their threads, need more than the {} CPUs that this process may use: "
      "take fewer, or let them share CPUs with `cpus LIST` in their words",
      workloads.size(), topology.allowed.size()));
}

std::vector<CorunMember> MembersOf(const SharingRounds& rounds,
                                   const std::vector<std::vector<MemberStage>>& stages,
                                   WindowTime time) {
  std::vector<CorunMember> members(stages.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& solo = rounds.solo[i];
    const auto& shared = rounds.shared[i];
    members[i].iteration =
        TimesOf("iteration", "", IterationByRound(solo, time), IterationByRound(shared, time));
    members[i].iteration.solo = SummaryOfIterations(solo);
    members[i].iteration.shared = SummaryOfIterations(shared);
    for (std::size_t s = 0; s < stages[i].size(); ++s) {
      members[i].stages.push_back(TimesOf(stages[i][s].name, stages[i][s].pass,
                                          StageByRound(solo, s, time),
                                          StageByRound(shared, s, time)));
      members[i].stages.back().solo = SummaryOfStage(solo, s);
      members[i].stages.back().shared = SummaryOfStage(shared, s);
    }
    members[i].waited_alone = MedianWait(solo);
    members[i].waited_shared = MedianWait(shared);
    Judge(time, solo.size(), members[i]);
  }
  return members;
}

void AddMetrics(const SharingRounds& rounds, WindowTime time, CorunGroup& group) {
  std::vector<std::vector<SharingTimes>> by_round;
  for (std::size_t i = 0; i < rounds.solo.size(); ++i) {
    const auto solo = IterationByRound(rounds.solo[i], time);
    const auto shared = IterationByRound(rounds.shared[i], time);
    if (!SlowdownOf(solo, shared)) continue;  // it has no times
    by_round.resize(solo.size());
    for (std::size_t r = 0; r < solo.size(); ++r) {
      // (a time of 0 makes the metrics of its round absent)
      by_round[r].push_back({solo[r].value_or(0), shared[r].value_or(0)});
    }
  }
  std::vector<double> stp, antt, fairness;
  for (const std::vector<SharingTimes>& round : by_round) {
    if (!SystemThroughput(round)) continue;
    stp.push_back(*SystemThroughput(round));
    antt.push_back(*AverageTurnaround(round));
    fairness.push_back(*Fairness(round));
  }
  group.stp = Estimate(stp);
  group.antt = Estimate(antt);
  group.fairness = Estimate(fairness);
}

CorunGroup RunCorun(const std::vector<CorunWorkload>& workloads, const Topology& topology,
                    const CorunSettings& settings) {
  const CpuShares shares = CpusOfCorun(workloads, topology);
  const std::vector<std::size_t> first = FirstOfEqual(workloads, shares.cpus);
  std::vector<MemberPlan> plans;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const auto enter = [partitions = settings.partitions, i] { partitions->Enter(i); };
    CorunCounting counting = settings.counting;
    counting.exact = counting.exact && first[i] == i;
    plans.push_back(CorunPlanOf(workloads[i], shares.cpus[i],
                                settings.partitions != nullptr ? enter : std::function<void()>(),
                                counting));
  }
  const auto say = [&settings](std::string_view what, double share) {
    if (settings.progress) settings.progress(what, share);
  };
  say("preparing, checking and counting the workloads", 0);
  Group processes(plans, {.most_seconds = settings.most_seconds, .cancel = settings.cancel});
  CorunGroup group;
  group.share_cores = shares.share_cores;
  group.share_cpus = HaveCpuInCommon(shares.cpus);
  GroupCounts counts = NoCounts(workloads.size());
  SharingRounds rounds{.solo = std::vector<std::vector<WindowSamples>>(workloads.size()),
                       .shared = std::vector<std::vector<WindowSamples>>(workloads.size()),
                       .cancelled = true};
  if (processes.AwaitReady()) {
    group.window_seconds = CorunWindowOf(processes, settings);
    rounds = RunSharingRounds(processes,
                              {.rounds = settings.rounds,
                               .window_seconds = group.window_seconds,
                               .progress = [&say](double share) { say("windows", share); }},
                              HooksOf(settings.partitions));
    counts = CountGroup(
        processes, first,
        {.rounds = rounds.cancelled ? 0 : kCountedRounds,
         .window_seconds = group.window_seconds,
         .progress = [&say](double share) { say("windows in which the PMU is read", share); }});
  }
  std::vector<std::vector<MemberStage>> stages;
  for (std::size_t i = 0; i < workloads.size(); ++i) stages.push_back(processes.stages(i));
  const WindowTime time = group.share_cpus ? WindowTime::kMean : WindowTime::kMedian;
  group.members = MembersOf(rounds, stages, time);
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    group.members[i].workload = workloads[i].words;
    group.members[i].cpus = shares.cpus[i];
    AddCounts(counts.messages[i], counts.windows.solo[i], counts.windows.shared[i],
              settings.counting, group.members[i]);
  }
  if (settings.partitions != nullptr) AddPartitions(*settings.partitions, group);
  AddMetrics(rounds, time, group);
  group.rounds = rounds.solo.front().size();
  group.cancelled = rounds.cancelled || counts.windows.cancelled;
  return group;
}

std::vector<CorunPair> RunCorunMatrix(const std::vector<CorunWorkload>& workloads,
                                      const Topology& topology, const CorunSettings& settings) {
  std::vector<CorunPair> pairs;
  const std::size_t all = workloads.size() * (workloads.size() + 1) / 2;
  std::size_t done = 0;
  for (std::size_t a = 0; a < workloads.size(); ++a) {
    for (std::size_t b = a; b < workloads.size(); ++b, ++done) {
      CorunSettings of_pair = settings;
      of_pair.counting = {};
      of_pair.progress = [&](std::string_view what, double share) {
        if (!settings.progress) return;
        settings.progress(fmt::format("pair {} of {}: {}", done + 1, all, what), share);
      };
      const CorunGroup group = RunCorun({workloads[a], workloads[b]}, topology, of_pair);
      if (group.cancelled) return pairs;
      const auto add = [&](std::size_t victim, std::size_t aggressor, const CorunMember& member) {
        pairs.push_back({workloads[victim].words, workloads[aggressor].words, member.iteration,
                         member.status, member.reason});
      };
      add(a, b, group.members[0]);
      if (a != b) add(b, a, group.members[1]);
    }
  }
  return pairs;
}

}  // namespace topdnn
