// Caches, cores and the CPUs that this process may use: from hwloc, or from the C library if the
// affinity mask cannot be read.

#ifndef TOPDNN_HARNESS_MACHINE_TOPOLOGY_H_
#define TOPDNN_HARNESS_MACHINE_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "harness/machine/cpu.h"

namespace topdnn {

struct Cache {
  int level = 0;
  std::string type;       // "data", "unified", "instruction"
  std::int64_t size = 0;  // bytes, as the machine reports it
  std::int64_t line = 0;  // bytes
  int instances = 0;
  int shared_by = 0;  // logical CPUs per instance
};

struct Topology {
  int packages = 0;
  int numa_nodes = 0;
  int cores = 0;
  int cpus = 0;  // logical
  // One per (level, type), from level 1 upwards; if they differ (hybrid CPUs): size, line and
  // sharing of the first.
  std::vector<Cache> caches;
  std::vector<int> allowed;  // operating system's numbers of the CPUs that this process may use
  int allowed_cores = 0;     // physical cores with one of those CPUs
  std::vector<std::vector<int>> cpus_of_cores;  // those CPUs, by physical core
  // Those CPUs, by instance of their own last-level cache (L4, L3 or L2; on some hybrid CPUs a part
  // of the cores has no L3). Empty if that is not known.
  std::vector<std::vector<int>> cpus_of_last_cache;
  std::string allowed_doubt;  // see CpuSet
  std::string caches_doubt;   // why a size in `caches` is assumed; empty if none is
  std::int64_t memory = 0;    // bytes, of the machine
};

// Throws std::runtime_error if hwloc fails.
Topology ReadTopology();

// The CPUs by instance of their last cache. `levels`: the CPUs of each instance, by level, the last
// level first. A CPU belongs to the first level that lists it. Pure.
std::vector<std::vector<int>> CpusByLastCache(
    const std::vector<std::vector<std::vector<int>>>& levels);

// Where an L3 cannot be that of one core complex of this AMD CPU, replaces its size by that of one
// and fills in caches_doubt. CPUID leaf 80000006h has the L3 of the whole package, and some virtual
// machines have no other leaf with it (no 8000001Dh). Cores use the L3 of their own complex only.
// Pure.
void AssumeCoreComplexCache(const Cpu& cpu, Topology* topology);

// The data or unified cache of a level; null if there is none.
const Cache* FindCache(const Topology& topology, int level);
// Its size in bytes; 0 if there is none.
std::int64_t CacheSize(const Topology& topology, int level);
// The highest reported level; 0 if there is none.
int LastCacheLevel(const Topology& topology);

// The bytes of all last caches that the threads may use: those of its packages, or of core
// complexes (AMD Zen). 0 if there is no cache. Pure.
std::int64_t LastCacheBytes(const Topology& topology, int threads);

// The threads on one core, if they are spread over the cores that this process may use, or over all
// cores if those are not known; 1 if no core is known. Pure.
int ThreadsPerCore(const Topology& topology, int threads);
// The threads that share one instance of a cache: at most those of all cores that share it. Pure.
int ThreadsSharing(const Topology& topology, int level, int threads);

// Why this virtual machine cannot use the whole reported last-level cache; empty if the size is
// plausible, and for a physical machine. A virtual machine often sees the size of the host's whole
// cache, which it shares with other guests. So a working set below that size may still miss the
// cache. Pure.
std::string LastLevelCacheDoubt(const Topology& topology, bool virtual_machine);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_TOPOLOGY_H_
