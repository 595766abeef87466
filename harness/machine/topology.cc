#include "harness/machine/topology.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "harness/machine/cpu_set.h"
#include "harness/text/errors.h"

namespace topdnn {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};

std::unique_ptr<hwloc_topology, TopologyDeleter> LoadTopology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw RunFailure("hwloc cannot be initialised");
  std::unique_ptr<hwloc_topology, TopologyDeleter> topology(raw);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  // Describes the whole machine; the allowed CPUs are listed separately.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) {
    throw RunFailure("hwloc cannot read this machine's topology (is /sys mounted?)");
  }
  return topology;
}

std::string TypeName(hwloc_obj_cache_type_t type) {
  switch (type) {
    case HWLOC_OBJ_CACHE_DATA:
      return "data";
    case HWLOC_OBJ_CACHE_INSTRUCTION:
      return "instruction";
    case HWLOC_OBJ_CACHE_UNIFIED:
      break;
  }
  return "unified";
}

std::vector<Cache> ReadCaches(hwloc_topology_t topology) {
  std::vector<Cache> caches;
  for (const hwloc_obj_type_t type :
       {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L2ICACHE,
        HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L3ICACHE, HWLOC_OBJ_L4CACHE}) {
    const hwloc_obj_t first = hwloc_get_obj_by_type(topology, type, 0);
    if (first == nullptr) continue;
    const auto& attributes = first->attr->cache;
    caches.push_back(
        {static_cast<int>(attributes.depth), TypeName(attributes.type),
         static_cast<std::int64_t>(attributes.size), static_cast<std::int64_t>(attributes.linesize),
         hwloc_get_nbobjs_by_type(topology, type), hwloc_bitmap_weight(first->cpuset)});
  }
  return caches;
}

// The caches that the C library reports for the CPU it runs on. It does not report which CPUs share
// them, so all CPUs are assumed to share level 3, and none the levels below.
std::vector<Cache> CachesOfLibrary(int cpus) {
  struct Level {
    int number;
    const char* type;
    int size, line;
  };
  constexpr Level kLevels[] = {
      {1, "data", _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_LINESIZE},
      {1, "instruction", _SC_LEVEL1_ICACHE_SIZE, _SC_LEVEL1_ICACHE_LINESIZE},
      {2, "unified", _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_LINESIZE},
      {3, "unified", _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_LINESIZE}};
  std::vector<Cache> caches;
  for (const Level& level : kLevels) {
    const std::int64_t size = sysconf(level.size);
    if (size <= 0) continue;
    const bool shared = level.number == 3;
    caches.push_back({level.number, level.type, size, sysconf(level.line), shared ? 1 : cpus,
                      shared ? cpus : 1});
  }
  return caches;
}

// Does not use hwloc, which repeats the call for the affinity mask until it succeeds, so it would
// never return (hwloc 2.9, topology-linux.c, hwloc_linux_find_kernel_nr_cpus). Each CPU is assumed
// to be a core.
Topology TopologyWithoutAffinity(const CpuSet& set) {
  Topology topology;
  topology.packages = 1;
  topology.numa_nodes = 1;
  topology.cpus = static_cast<int>(set.cpus.size());
  topology.cores = topology.cpus;
  topology.allowed_cores = topology.cpus;
  for (const int cpu : set.cpus) topology.cpus_of_cores.push_back({cpu});
  topology.caches = CachesOfLibrary(topology.cpus);
  return topology;
}

// The allowed CPUs of each object of a type; objects without any are omitted.
std::vector<std::vector<int>> AllowedBelow(hwloc_topology_t topology, hwloc_obj_type_t type,
                                           const std::vector<int>& allowed) {
  std::vector<std::vector<int>> found;
  const int objects = hwloc_get_nbobjs_by_type(topology, type);
  for (int i = 0; i < objects; ++i) {
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, static_cast<unsigned>(i));
    std::vector<int> cpus;
    std::copy_if(allowed.begin(), allowed.end(), std::back_inserter(cpus), [object](int cpu) {
      return hwloc_bitmap_isset(object->cpuset, static_cast<unsigned>(cpu)) != 0;
    });
    if (!cpus.empty()) found.push_back(cpus);
  }
  return found;
}

Topology TopologyOfHwloc(const CpuSet& set) {
  const auto hwloc = LoadTopology();
  Topology topology;
  topology.packages = hwloc_get_nbobjs_by_type(hwloc.get(), HWLOC_OBJ_PACKAGE);
  topology.numa_nodes = hwloc_get_nbobjs_by_type(hwloc.get(), HWLOC_OBJ_NUMANODE);
  topology.cores = hwloc_get_nbobjs_by_type(hwloc.get(), HWLOC_OBJ_CORE);
  topology.cpus = hwloc_get_nbobjs_by_type(hwloc.get(), HWLOC_OBJ_PU);
  topology.caches = ReadCaches(hwloc.get());
  topology.cpus_of_cores = AllowedBelow(hwloc.get(), HWLOC_OBJ_CORE, set.cpus);
  std::vector<std::vector<std::vector<int>>> levels;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    levels.push_back(AllowedBelow(hwloc.get(), type, set.cpus));
  }
  topology.cpus_of_last_cache = CpusByLastCache(levels);
  topology.allowed_cores = static_cast<int>(topology.cpus_of_cores.size());
  return topology;
}

}  // namespace

Topology ReadTopology() {
  const CpuSet set = AllowedCpus();
  Topology topology = set.doubt.empty() ? TopologyOfHwloc(set) : TopologyWithoutAffinity(set);
  topology.allowed = set.cpus;
  topology.allowed_doubt = set.doubt;
  topology.memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  AssumeCoreComplexCache(IdentifyCpu(), &topology);
  return topology;
}

void AssumeCoreComplexCache(const Cpu& cpu, Topology* topology) {
  if (cpu.vendor != "AuthenticAMD" || cpu.family < 0x17) return;
  // AMD's Processor Programming References and Software Optimization Guides: Zen and Zen+ 8 MiB,
  // Zen 2 16 MiB, later ones 32 MiB, or 96 MiB with a stacked die.
  const bool first = cpu.family == 0x17 && cpu.model < 0x30;
  const std::int64_t usual = cpu.family > 0x17 ? 32 : first ? 8 : 16;  // MiB
  const std::int64_t most = cpu.family > 0x17 ? 96 : usual;
  // Packages without stacked dies have up to 16 complexes.
  constexpr std::int64_t kMostUnstacked = 16 * 32;
  for (Cache& cache : topology->caches) {
    const std::int64_t reported = cache.size >> 20;
    if (cache.level != 3 || reported <= most) continue;
    const std::int64_t assumed = reported > kMostUnstacked ? most : usual;
    cache.size = assumed << 20;
    topology->caches_doubt = fmt::format(
        "L3 is reported as {} MiB, that of the whole package: {} MiB are assumed, those of one "
        "core complex",
        reported, assumed);
  }
}

std::vector<std::vector<int>> CpusByLastCache(
    const std::vector<std::vector<std::vector<int>>>& levels) {
  std::vector<std::vector<int>> found;
  std::set<int> placed;
  for (const std::vector<std::vector<int>>& instances : levels) {
    for (const std::vector<int>& sharing : instances) {
      std::vector<int> cpus;
      std::copy_if(sharing.begin(), sharing.end(), std::back_inserter(cpus),
                   [&placed](int cpu) { return placed.insert(cpu).second; });
      if (!cpus.empty()) found.push_back(cpus);
    }
  }
  return found;
}

const Cache* FindCache(const Topology& topology, int level) {
  for (const Cache& cache : topology.caches) {
    if (cache.level == level && cache.type != "instruction") return &cache;
  }
  return nullptr;
}

std::int64_t CacheSize(const Topology& topology, int level) {
  const Cache* cache = FindCache(topology, level);
  return cache == nullptr ? 0 : cache->size;
}

int LastCacheLevel(const Topology& topology) {
  int last = 0;
  for (const Cache& cache : topology.caches) last = std::max(last, cache.level);
  return last;
}

std::int64_t LastCacheBytes(const Topology& topology, int threads) {
  const Cache* last = FindCache(topology, LastCacheLevel(topology));
  return last == nullptr ? 0 : last->size * std::min(threads, std::max(last->instances, 1));
}

int ThreadsPerCore(const Topology& topology, int threads) {
  const Cache* first = FindCache(topology, 1);  // each core has its own
  const int all = first == nullptr ? 0 : first->instances;
  const int cores = topology.allowed_cores > 0 ? topology.allowed_cores : all;
  return cores > 0 ? (threads + cores - 1) / cores : 1;
}

int ThreadsSharing(const Topology& topology, int level, int threads) {
  const Cache* cache = FindCache(topology, level);
  if (cache == nullptr) return threads;
  const Cache* first = FindCache(topology, 1);
  const int cpus_of_core = first == nullptr ? 1 : std::max(first->shared_by, 1);
  const int cores = std::max(cache->shared_by / cpus_of_core, 1);
  return std::min(threads, cores * ThreadsPerCore(topology, threads));
}

std::string LastLevelCacheDoubt(const Topology& topology, bool virtual_machine) {
  // The largest per logical CPU of desktop parts: stacked caches of 96 MiB for 12 threads.
  constexpr std::int64_t kBelievablePerCpu = std::int64_t{8} << 20;
  const int level = LastCacheLevel(topology);
  const Cache* cache = FindCache(topology, level);
  if (!virtual_machine || level < 3 || cache == nullptr) return "";
  if (cache->size / std::max(cache->shared_by, 1) <= kBelievablePerCpu) return "";
  return fmt::format(
      "L{} is reported as {} MiB for {} CPUs: a physical cache shared with other guests of the "
      "host",
      level, cache->size >> 20, cache->shared_by);
}

}  // namespace topdnn
