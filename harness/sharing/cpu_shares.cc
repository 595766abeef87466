#include "harness/sharing/cpu_shares.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace topdnn {

namespace {

using Cores = std::vector<std::vector<int>>;

// The CPUs that no wish names, by core.
Cores FreeCores(const Cores& cores, std::span<const CpuWish> wishes) {
  std::set<int> taken;
  for (const CpuWish& wish : wishes) taken.insert(wish.cpus.begin(), wish.cpus.end());
  Cores free;
  for (const std::vector<int>& core : cores) {
    std::vector<int> left;
    for (const int cpu : core) {
      if (!taken.contains(cpu)) left.push_back(cpu);
    }
    if (!left.empty()) free.push_back(left);
  }
  return free;
}

// Each CPU by itself: the first ones of all cores, then the second ones.
Cores SingleCpus(const Cores& cores) {
  Cores single;
  std::size_t most = 0;
  for (const std::vector<int>& core : cores) most = std::max(most, core.size());
  for (std::size_t sibling = 0; sibling < most; ++sibling) {
    for (const std::vector<int>& core : cores) {
      if (sibling < core.size()) single.push_back({core[sibling]});
    }
  }
  return single;
}

// The number of units (cores or CPUs) of each wish; absent if there are too few. Every unit has at
// least `smallest` CPUs.
std::optional<std::vector<std::size_t>> UnitsOf(std::span<const CpuWish> wishes, std::size_t units,
                                                std::size_t smallest) {
  std::vector<std::size_t> counts;
  for (const CpuWish& wish : wishes) {
    const std::size_t least = std::max<std::size_t>(wish.threads, 1);
    counts.push_back(wish.cpus.empty() ? (least + smallest - 1) / smallest : 0);
  }
  const std::size_t sum = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  if (sum > units) return std::nullopt;
  const auto takes_any = [&](std::size_t i) {
    return wishes[i].cpus.empty() && wishes[i].threads == 0;
  };
  bool any = false;
  for (std::size_t i = 0; i < wishes.size(); ++i) any = any || takes_any(i);
  std::size_t left = any ? units - sum : 0;
  for (std::size_t i = 0; left > 0; i = (i + 1) % wishes.size()) {
    if (!takes_any(i)) continue;
    ++counts[i];
    --left;
  }
  return counts;
}

bool CoresAreShared(const Cores& cores, const Cores& shares) {
  for (const std::vector<int>& core : cores) {
    std::size_t users = 0;
    for (const std::vector<int>& share : shares) {
      users += std::any_of(share.begin(), share.end(), [&core](int cpu) {
        return std::find(core.begin(), core.end(), cpu) != core.end();
      });
    }
    if (users > 1) return true;
  }
  return false;
}

}  // namespace

std::optional<CpuShares> ShareCpus(const Cores& cores, std::span<const CpuWish> wishes) {
  Cores units = FreeCores(cores, wishes);
  std::size_t smallest = units.empty() ? 1 : units.front().size();
  for (const std::vector<int>& core : units) smallest = std::min(smallest, core.size());
  auto counts = UnitsOf(wishes, units.size(), smallest);
  if (!counts) {
    units = SingleCpus(units);
    counts = UnitsOf(wishes, units.size(), 1);
  }
  if (!counts) return std::nullopt;
  CpuShares shares;
  std::size_t next = 0;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    shares.cpus.push_back(wishes[i].cpus);
    for (std::size_t k = 0; k < (*counts)[i]; ++k, ++next) {
      shares.cpus.back().insert(shares.cpus.back().end(), units[next].begin(), units[next].end());
    }
  }
  shares.share_cores = CoresAreShared(cores, shares.cpus);
  return shares;
}

}  // namespace topdnn
