// What a workload loses with less of the last cache: by resctrl (`topdnn corun --sweep-ways`), or,
// on a machine without it, by a neighbour that occupies the rest (`--cache-curve`).

#ifndef TOPDNN_BENCH_STUDIES_CORUN_CACHE_CURVE_H_
#define TOPDNN_BENCH_STUDIES_CORUN_CACHE_CURVE_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/studies/corun/corun.h"
#include "bench/studies/corun/corun_words.h"
#include "harness/machine/topology.h"
#include "harness/text/style.h"

namespace topdnn {

struct CachePoint {
  CorunMember member;  // "shared": with this part of the cache
  // Of --sweep-ways.
  int ways = 0;
  std::uint64_t mask = 0;
  // Of --cache-curve. `access`: the time of one access of the neighbour, alone and beside the
  // workload.
  std::size_t occupied_bytes = 0;
  CorunTimes access;
  std::optional<double> held_bytes;  // beside the workload; an estimate (HeldShare)
  // Whether the neighbour kept too little of its part, so that the point says only what a neighbour
  // costs that reads from memory. False if that is not known, and for the smallest buffer.
  bool is_void() const {
    constexpr double kLeastHeld = 0.75;
    constexpr std::size_t kSmallest = 1 << 16;
    return held_bytes && occupied_bytes > kSmallest &&
           *held_bytes < kLeastHeld * static_cast<double>(occupied_bytes);
  }
};

struct CacheCurve {
  bool by_ways = false;
  std::string workload;
  std::vector<int> cpus;
  std::vector<CachePoint> points = {};  // from the smallest number of ways or bytes
  std::size_t rounds = 0;
  double window_seconds = 0;
  std::string cache;  // "L3"
  std::size_t cache_bytes = 0;
  std::vector<std::string> notes;
  // Of --cache-curve: the time of an access of the neighbour alone to the smallest part of the
  // cache, and to memory.
  std::optional<double> hit_seconds = {}, miss_seconds = {};
};

// The first workload's times for each number of ways, divided by those alone with all ways. The
// other workloads have the rest. Throws as RunCorun, and ResctrlError.
CacheCurve RunWaysSweep(const std::vector<CorunWorkload>& workloads, const Topology& topology,
                        Partitions& partitions, const CorunSettings& settings);

// Where the workload and its neighbour run.
struct CurveCpus {
  std::vector<int> workload;
  int neighbour = 0;
  bool share_core = false;  // the neighbour has a hyperthread of one of the workload's cores
};
// Throws UsageError if the workload's CPUs share their last cache with no other CPU. Pure.
CurveCpus CpusOfCurve(const CorunWorkload& workload, const Topology& topology);

// Throws as RunCorun.
CacheCurve RunCacheCurve(const CorunWorkload& workload, const Topology& topology,
                         const CorunSettings& settings);

// The value of the key "ways" or "cache_curve".
nlohmann::ordered_json CacheCurveJson(const CacheCurve& curve);
// A row for each part of the cache; then the slowdowns of the stages, the largest first.
std::string CacheCurveTable(const CacheCurve& curve, std::size_t most_stages, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_CACHE_CURVE_H_
