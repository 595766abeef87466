#include "harness/scheduling/cpu_assignment.h"

#include <algorithm>
#include <cstddef>

namespace topdnn {

namespace {

using Indices = std::vector<std::size_t>;  // of available CPUs

Indices OfPart(std::size_t cpus, std::size_t part_width, const JobWidth& wanted) {
  Indices found;
  const std::size_t begin = static_cast<std::size_t>(wanted.part) * part_width;
  const std::size_t count = std::min({static_cast<std::size_t>(wanted.width), part_width, cpus});
  for (std::size_t i = 0; i < count; ++i) found.push_back((begin + i) % cpus);
  return found;
}

}  // namespace

std::vector<std::vector<int>> AssignCpus(std::span<const int> available, int part_width,
                                         std::span<const CpuClaim> claims) {
  std::vector<Indices> indices(claims.size());
  std::vector<int> jobs(available.size());  // that have the CPU
  const auto width = [&](const CpuClaim& claim) {
    return std::min(static_cast<std::size_t>(std::max(claim.wanted.width, 0)), available.size());
  };
  const auto take = [&](std::size_t claim, std::size_t cpu) {
    indices[claim].push_back(cpu);
    ++jobs[cpu];
  };
  for (std::size_t c = 0; c < claims.size(); ++c) {
    if (claims[c].wanted.part != kNoPart && claims[c].wanted.width > 0) {
      const auto part = static_cast<std::size_t>(std::max(part_width, 1));
      for (const std::size_t cpu : OfPart(available.size(), part, claims[c].wanted)) take(c, cpu);
      continue;
    }
    for (const int cpu : claims[c].now) {
      if (indices[c].size() >= width(claims[c])) break;
      const auto at = std::find(available.begin(), available.end(), cpu);
      const auto index = static_cast<std::size_t>(at - available.begin());
      if (at != available.end() && jobs[index] == 0) take(c, index);
    }
  }
  for (std::size_t c = 0; c < claims.size(); ++c) {
    if (claims[c].wanted.part != kNoPart) continue;
    while (indices[c].size() < width(claims[c])) {
      std::size_t best = available.size();
      for (std::size_t i = 0; i < available.size(); ++i) {
        if (std::find(indices[c].begin(), indices[c].end(), i) != indices[c].end()) continue;
        if (best == available.size() || jobs[i] < jobs[best]) best = i;
      }
      take(c, best);
    }
  }
  std::vector<std::vector<int>> cpus(claims.size());
  for (std::size_t c = 0; c < claims.size(); ++c) {
    std::sort(indices[c].begin(), indices[c].end());
    for (const std::size_t index : indices[c]) cpus[c].push_back(available[index]);
  }
  return cpus;
}

}  // namespace topdnn
