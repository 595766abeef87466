#include "bench/studies/corun/cache_curve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/studies/corun/corun_table.h"
#include "harness/machine/cpu.h"
#include "harness/sharing/cache_sweeper.h"
#include "harness/sharing/group.h"
#include "harness/sharing/occupant_member.h"
#include "harness/sharing/rounds.h"

namespace topdnn {

namespace {

// The member's times in windows of one kind, compared with those of another kind.
CorunMember Compare(const KindRounds& rounds, std::size_t member, std::size_t alone,
                    std::size_t shared, const std::vector<MemberStage>& stages, WindowTime time) {
  const SharingRounds both{.solo = {rounds.samples[alone][member]},
                           .shared = {rounds.samples[shared][member]},
                           .cancelled = rounds.cancelled};
  return MembersOf(both, {stages}, time).front();
}

bool Contains(const std::vector<int>& cpus, int cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

// The CPUs that share a last cache with the workload's; throws UsageError if there are several
// caches.
const std::vector<int>& CacheOf(const CorunWorkload& workload, const Topology& topology) {
  const std::vector<int>& wanted = workload.wish.cpus;
  const std::vector<int>* largest = nullptr;
  for (const std::vector<int>& cpus : topology.cpus_of_last_cache) {
    const bool all =
        std::all_of(wanted.begin(), wanted.end(), [&cpus](int cpu) { return Contains(cpus, cpu); });
    if (all && (largest == nullptr || cpus.size() > largest->size())) largest = &cpus;
  }
  if (largest != nullptr) return *largest;
  throw UsageError(fmt::format(
      "--cache-curve: workload '{}': {}", workload.words,
      topology.cpus_of_last_cache.empty()
          ? "it is not known which CPUs share the last cache of this machine: use another machine"
          : "its CPUs use several last caches: set CPUs of one cache with `cpus LIST`"));
}

// The cores with their CPUs that are in the list.
std::vector<std::vector<int>> CoresWithin(const std::vector<int>& cpus, const Topology& topology) {
  std::vector<std::vector<int>> cores;
  for (const std::vector<int>& core : topology.cpus_of_cores) {
    std::vector<int> within;
    for (const int cpu : core) {
      if (Contains(cpus, cpu)) within.push_back(cpu);
    }
    if (!within.empty()) cores.push_back(within);
  }
  return cores;
}

std::vector<std::vector<MemberStage>> StagesOf(const Group& group) {
  std::vector<std::vector<MemberStage>> stages;
  for (std::size_t i = 0; i < group.size(); ++i) stages.push_back(group.stages(i));
  return stages;
}

SharingRoundOptions RoundOptionsOf(const CorunSettings& settings, double window_seconds) {
  return {.rounds = settings.rounds,
          .window_seconds = window_seconds,
          .progress = [&settings](double share) {
            if (settings.progress) settings.progress("windows", share);
          }};
}

void SayPreparing(const CorunSettings& settings) {
  if (settings.progress) settings.progress("preparing and checking the workloads", 0);
}

}  // namespace

CacheCurve RunWaysSweep(const std::vector<CorunWorkload>& workloads, const Topology& topology,
                        Partitions& partitions, const CorunSettings& settings) {
  const CpuShares shares = CpusOfCorun(workloads, topology);
  const CacheControl& cache = *partitions.cache();
  const bool others = workloads.size() > 1;
  const std::vector<WaysStep> steps = StepsOfWays(cache, others);
  SayPreparing(settings);
  std::vector<MemberPlan> plans;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    plans.push_back(
        CorunPlanOf(workloads[i], shares.cpus[i], [&partitions, i] { partitions.Enter(i); }));
  }
  Group group(plans, {.most_seconds = settings.most_seconds, .cancel = settings.cancel});
  CacheCurve curve{
      .by_ways = true,
      .workload = workloads.front().words,
      .cpus = shares.cpus.front(),
      .cache = cache.cache,
      .cache_bytes = static_cast<std::size_t>(CacheSize(topology, cache.cache == "L3" ? 3 : 2)),
      .notes = partitions.plan().notes};
  if (!group.AwaitReady()) return curve;
  curve.window_seconds = CorunWindowOf(group, settings);
  std::vector<WindowKind> kinds(steps.size() + 1);
  for (WindowKind& kind : kinds) kind.active.assign(workloads.size(), true);
  kinds[0].active.assign(workloads.size(), false);
  kinds[0].active[0] = true;
  WindowHooks hooks;
  CacheSweeper sweeper(curve.cache_bytes);
  hooks.before = [&](std::size_t kind) {
    partitions.SetWays(0, kind == 0 ? cache.rules.all : steps[kind - 1].mask);
    for (std::size_t i = 1; i < workloads.size() && kind > 0; ++i) {
      partitions.SetWays(i, steps[kind - 1].rest);
    }
    sweeper.Sweep(shares.cpus.front());
    partitions.BeginWindow();
  };
  hooks.after = [&](std::size_t kind) { partitions.EndWindow(kind); };
  const KindRounds rounds =
      RunRoundsOf(group, kinds, RoundOptionsOf(settings, curve.window_seconds), hooks);
  curve.rounds = rounds.samples.front().front().size();
  const auto stages = StagesOf(group);
  const WindowTime time = HaveCpuInCommon(shares.cpus) ? WindowTime::kMean : WindowTime::kMedian;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    CachePoint point;
    point.ways = steps[k].ways;
    point.mask = steps[k].mask;
    point.member = Compare(rounds, 0, 0, k + 1, stages[0], time);
    point.member.partition = partitions.plan().parts.front();
    point.member.partition.mask = steps[k].mask;
    point.member.readings = partitions.ReadingsOf(k + 1, 0);
    curve.points.push_back(std::move(point));
  }
  return curve;
}

CurveCpus CpusOfCurve(const CorunWorkload& workload, const Topology& topology) {
  CpusOfCorun({workload}, topology);  // refuses CPUs that may not be used
  const std::vector<int>& sharing = CacheOf(workload, topology);
  CurveCpus cpus{.workload = workload.wish.cpus, .neighbour = -1, .share_core = false};
  if (cpus.workload.empty()) {
    const std::vector<CpuWish> wishes = {workload.wish, {.cpus = {}, .threads = 1}};
    const auto shares = ShareCpus(CoresWithin(sharing, topology), wishes);
    if (shares) cpus.workload = shares->cpus.front();
  }
  const auto has_workload = [&cpus](int cpu) { return Contains(cpus.workload, cpu); };
  for (const std::vector<int>& core : CoresWithin(sharing, topology)) {
    const bool shared = std::any_of(core.begin(), core.end(), has_workload);
    for (const int cpu : core) {
      if (has_workload(cpu)) continue;
      if (cpus.neighbour >= 0 && (shared || !cpus.share_core)) continue;
      cpus.neighbour = cpu;
      cpus.share_core = shared;
    }
  }
  if (!cpus.workload.empty() && cpus.neighbour >= 0) return cpus;
  throw UsageError(fmt::format(
      "--cache-curve: workload '{}': its CPUs share their last cache with no other CPU that this "
      "process may use ({}): leave one to the neighbour, with fewer threads or `cpus LIST`",
      workload.words, fmt::join(topology.allowed, ",")));
}

CacheCurve RunCacheCurve(const CorunWorkload& workload, const Topology& topology,
                         const CorunSettings& settings) {
  const CurveCpus cpus = CpusOfCurve(workload, topology);
  const int level = LastCacheLevel(topology);
  const auto bytes = static_cast<std::size_t>(CacheSize(topology, level));
  SayPreparing(settings);
  std::vector<MemberPlan> plans = {
      CorunPlanOf(workload, cpus.workload),
      {.name = "the neighbour of --cache-curve",
       .cpus = {cpus.neighbour},
       .make = [bytes](const MemberPlace&) { return MakeOccupantMember(bytes); }}};
  Group group(plans, {.most_seconds = settings.most_seconds, .cancel = settings.cancel});
  CacheCurve curve{.by_ways = false,
                   .workload = workload.words,
                   .cpus = cpus.workload,
                   .cache = fmt::format("L{}", level),
                   .cache_bytes = bytes,
                   .notes = {fmt::format("the neighbour runs on CPU {}", cpus.neighbour)}};
  if (cpus.share_core) {
    curve.notes.push_back(
        "the neighbour has a hyperthread of a core of the workload, so they also "
        "share the core's units and its L1 and L2");
  }
  const std::string doubt = LastLevelCacheDoubt(topology, !IdentifyCpu().hypervisor.empty());
  if (!doubt.empty()) curve.notes.push_back(doubt);
  if (!group.AwaitReady()) return curve;
  curve.window_seconds = CorunWindowOf(group, settings);
  std::vector<WindowKind> kinds = {{.active = {true, false}}};
  for (std::size_t part = 0; part < kCacheParts; ++part) {
    const WindowOptions options{.setting = part,
                                .lead_seconds = OccupantLead(OccupiedBytes(bytes, part))};
    kinds.push_back({.active = {false, true}, .options = options});
    kinds.push_back({.active = {true, true}, .options = options});
  }
  const std::size_t misses = kinds.size();
  kinds.push_back({.active = {false, true}, .options = {.setting = kMissSetting}});
  const KindRounds rounds =
      RunRoundsOf(group, kinds, RoundOptionsOf(settings, curve.window_seconds));
  curve.rounds = rounds.samples.front().front().size();
  const auto stages = StagesOf(group);
  const auto access_of = [&](std::size_t kind) {
    return MedianOf(SummaryOfStage(rounds.samples[kind][1], 0));
  };
  curve.hit_seconds = access_of(3);  // of one eighth
  curve.miss_seconds = access_of(misses);
  for (std::size_t part = 0; part < kCacheParts; ++part) {
    const std::size_t alone = 1 + 2 * part;
    CachePoint point;
    point.occupied_bytes = OccupiedBytes(bytes, part);
    point.member = Compare(rounds, 0, 0, alone + 1, stages[0], WindowTime::kMedian);
    point.access = Compare(rounds, 1, alone, alone + 1, stages[1], WindowTime::kMedian).iteration;
    if (const auto share = HeldShare(access_of(alone + 1), curve.hit_seconds, curve.miss_seconds)) {
      point.held_bytes = *share * static_cast<double>(point.occupied_bytes);
    }
    curve.points.push_back(std::move(point));
  }
  return curve;
}

}  // namespace topdnn
