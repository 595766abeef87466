#include "bench/studies/corun/corun_partitions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "harness/sharing/member.h"
#include "harness/statistics/summary.h"
#include "harness/text/errors.h"
#include "harness/text/parse_number.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

std::vector<std::string> PartsOf(const char* option, const std::string& list,
                                 std::size_t workloads) {
  std::vector<std::string> parts = SplitAtCommas(list);
  if (parts.size() == workloads) return parts;
  throw UsageError(fmt::format("{} {}: has {} for {}: give one for each", option, list,
                               CountText(std::ssize(parts), "value"),
                               CountText(static_cast<std::int64_t>(workloads), "workload")));
}

std::uint64_t MaskOf(const std::string& text, const CacheControl& cache) {
  const auto mask = ParseMask(text);
  if (!mask) {
    throw UsageError(fmt::format("--ways: '{}' is not a mask: give hexadecimal digits, such as {}",
                                 text, MaskText(cache.rules.all)));
  }
  const std::string problem = MaskProblem(*mask, cache.rules);
  if (!problem.empty()) throw UsageError(fmt::format("--ways: the mask {} {}", text, problem));
  return *mask;
}

void PlanWays(const std::string& list, const ResctrlCapabilities& machine, PartitionPlan& plan) {
  const std::size_t workloads = plan.parts.size();
  const CacheControl* const cache = LastCacheControl(machine);
  if (cache == nullptr) {
    throw UsageError(
        fmt::format("--ways {}: this machine has no cache that resctrl can divide "
                    "(no info/L3 and no info/L2): use --cache-curve",
                    list));
  }
  const std::vector<std::string> texts = PartsOf("--ways", list, workloads);
  for (std::size_t i = 0; i < workloads; ++i) {
    plan.parts[i].mask = MaskOf(texts[i], *cache);
    for (std::size_t other = 0; other < i; ++other) {
      const std::uint64_t both = *plan.parts[i].mask & *plan.parts[other].mask;
      if (both == 0) continue;
      plan.notes.push_back(
          fmt::format("the masks {} and {} overlap: workloads {} and {} share {} "
                      "way{} of {}",
                      texts[other], texts[i], other + 1, i + 1, std::popcount(both),
                      std::popcount(both) == 1 ? "" : "s", cache->cache));
    }
    const std::uint64_t with_devices = *plan.parts[i].mask & cache->rules.shareable;
    if (with_devices == 0) continue;
    plan.notes.push_back(fmt::format("devices also use the ways {} of the mask {} (shareable_bits)",
                                     MaskText(with_devices), texts[i]));
  }
}

void PlanBandwidth(const std::string& list, const ResctrlCapabilities& machine,
                   PartitionPlan& plan) {
  if (!machine.bandwidth || machine.bandwidth->largest > 100) {
    throw UsageError(fmt::format("--bandwidth {}: this machine {}: leave it out", list,
                                 machine.bandwidth
                                     ? "limits the bandwidth in another unit than percent"
                                     : "cannot limit the bandwidth (resctrl has no info/MB)"));
  }
  const BandwidthControl& control = *machine.bandwidth;
  const std::vector<std::string> texts = PartsOf("--bandwidth", list, plan.parts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    const auto percent = ParseNumber<int>(text);
    if (!(percent >= std::max(control.least, 1) && percent <= 100)) {
      throw UsageError(
          fmt::format("--bandwidth: '{}' must be a whole number of percent from {} to "
                      "100",
                      text, std::max(control.least, 1)));
    }
    const int rounded = RoundedBandwidth(*percent, control);
    plan.parts[i].bandwidth = rounded;
    if (rounded == percent) continue;
    plan.notes.push_back(
        fmt::format("the bandwidth {} % of workload {} is rounded up to {} %: this "
                    "machine has steps of {} %",
                    *percent, i + 1, rounded, control.granularity));
  }
}

// The fewest groups of any control, with the root group; 0 if unknown.
int Classes(const ResctrlCapabilities& machine) {
  int least = 0;
  const auto add = [&least](int closids) {
    least = least == 0 ? closids : std::min(least, closids);
  };
  for (const CacheControl& cache : machine.caches) add(cache.closids);
  if (machine.bandwidth) add(machine.bandwidth->closids);
  return least;
}

void SetMask(const CacheControl& cache, std::uint64_t mask, Schemata& schemata) {
  for (const std::string& resource : cache.resources) {
    for (const int domain : cache.domains) schemata[resource][domain] = mask;
  }
}

void AddRate(const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& after,
             double seconds, std::vector<double>& rates) {
  if (!before || !after || *after < *before || !(seconds > 0)) return;
  rates.push_back(static_cast<double>(*after - *before) / seconds);
}

}  // namespace

PartitionPlan PlanPartitions(const PartitionOptions& options, std::size_t workloads,
                             const ResctrlCapabilities& machine) {
  PartitionPlan plan;
  plan.parts.resize(workloads);
  const int classes = Classes(machine);
  if (classes > 0 && workloads > static_cast<std::size_t>(classes - 1)) {
    throw UsageError(
        fmt::format("{} workloads need as many groups, and this CPU has {} classes of "
                    "service (CLOSIDs), one of which the other programs use: take "
                    "fewer workloads",
                    workloads, classes));
  }
  if (!options.ways.empty()) PlanWays(options.ways, machine, plan);
  if (!options.bandwidth.empty()) PlanBandwidth(options.bandwidth, machine, plan);
  if (!options.sweep_ways) return plan;
  const CacheControl* const cache = LastCacheControl(machine);
  if (cache == nullptr || StepsOfWays(*cache, workloads > 1).empty()) {
    throw UsageError(fmt::format(
        "--sweep-ways: this machine has no cache that resctrl can divide "
        "({}): use --cache-curve",
        cache == nullptr ? "no info/L3 and no info/L2" : "too few bits in " + cache->cache));
  }
  return plan;
}

std::vector<WaysStep> StepsOfWays(const CacheControl& cache, bool others) {
  const int least = std::max(cache.rules.least_bits, 1);
  const int most = cache.ways() - (others ? least : 0);
  std::vector<WaysStep> steps;
  std::uint64_t mask = 0;
  std::uint64_t left = cache.rules.all;
  for (int ways = 1; ways <= most; ++ways) {
    const std::uint64_t lowest = left & (~left + 1);
    mask |= lowest;
    left &= ~lowest;
    if (ways >= least) steps.push_back({.ways = ways, .mask = mask, .rest = left});
  }
  return steps;
}

Partitions::Partitions(std::unique_ptr<ResctrlFiles> files, const PartitionOptions& options,
                       std::size_t workloads)
    : files_(std::move(files)) {
  try {
    machine_ = ReadCapabilities(*files_);
    plan_ = PlanPartitions(options, workloads, machine_);
    const std::size_t left = RemoveStaleGroups(*files_).size();
    if (left > 0) {
      plan_.notes.push_back(fmt::format("removed {} of earlier runs that did not end normally",
                                        CountText(static_cast<std::int64_t>(left), "group")));
    }
    for (Partition& part : plan_.parts) {
      groups_.push_back(std::make_unique<ControlGroup>(*files_));
      Schemata schemata;
      if (part.mask) SetMask(*cache(), *part.mask, schemata);
      if (part.bandwidth) {
        for (const int domain : machine_.bandwidth->domains) {
          schemata["MB"][domain] = static_cast<std::uint64_t>(*part.bandwidth);
        }
      }
      if (schemata.empty()) continue;
      const Schemata now = groups_.back()->Set(schemata);
      const auto bandwidth = now.find("MB");
      if (part.bandwidth && bandwidth != now.end()) {
        part.bandwidth = static_cast<int>(bandwidth->second.begin()->second);
      }
    }
  } catch (const ResctrlError& error) {
    throw UsageError(error.what());
  }
}

void Partitions::Enter(std::size_t workload) {
  try {
    groups_[workload]->Add(getpid());
  } catch (const ResctrlError& error) {
    throw InputError(error.what());
  }
}

void Partitions::SetWays(std::size_t workload, std::uint64_t mask) {
  Schemata schemata;
  SetMask(*cache(), mask, schemata);
  groups_[workload]->Set(schemata);
}

void Partitions::BeginWindow() {
  before_.clear();
  for (const auto& group : groups_) before_.push_back(group->Read());
  begin_ = std::chrono::steady_clock::now();
}

void Partitions::EndWindow(std::size_t kind) {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  if (samples_.size() <= kind) samples_.resize(kind + 1, std::vector<Samples>(groups_.size()));
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const GroupReadings now = groups_[i]->Read();
    Samples& samples = samples_[kind][i];
    if (now.occupancy) samples.occupancy.push_back(static_cast<double>(*now.occupancy));
    if (samples.reason.empty()) samples.reason = now.reason;
    AddRate(before_[i].total_bytes, now.total_bytes, seconds.count(), samples.rate);
    AddRate(before_[i].local_bytes, now.local_bytes, seconds.count(), samples.local_rate);
  }
}

PartitionReadings Partitions::ReadingsOf(std::size_t kind, std::size_t workload) const {
  if (kind >= samples_.size()) return {};
  const Samples& samples = samples_[kind][workload];
  return {.occupancy = MedianIfAny(samples.occupancy),
          .bytes_per_second = MedianIfAny(samples.rate),
          .local_bytes_per_second = MedianIfAny(samples.local_rate),
          .reason = samples.reason};
}

}  // namespace topdnn
