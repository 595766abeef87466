#include "bench/stage_bounds.h"

#include <algorithm>
#include <limits>

namespace topdnn {

namespace {

double InstructionCache(const std::vector<Cache>& caches) {
  for (const Cache& cache : caches) {
    if (cache.level == 1 && cache.type == "instruction") return static_cast<double>(cache.size);
  }
  return 0;
}

double LastCache(const std::vector<Cache>& caches) {
  Topology topology;
  topology.caches = caches;
  const auto size = static_cast<double>(CacheSize(topology, LastCacheLevel(topology)));
  return size > 0 ? size : std::numeric_limits<double>::infinity();
}

// What holds for every record of a report.
struct Surroundings {
  CoreTime time;  // but for seconds and bytes
  double last_cache = 0;
  std::optional<Roof> l1, dram;
};

Surroundings SurroundingsOf(int threads, const std::vector<Ceiling>& ceilings,
                            const std::vector<Cache>& caches, const Disturbance& seen) {
  Surroundings here;
  here.l1 = BandwidthRoof(ceilings, "l1");
  here.dram = BandwidthRoof(ceilings, "dram");
  here.last_cache = LastCache(caches);
  here.time.threads = threads;
  here.time.instruction_cache = InstructionCache(caches);
  if (here.dram) here.time.memory_bytes_per_second = here.dram->value;
  if (seen.core_hertz_before && seen.core_hertz_after) {
    here.time.hertz_low = std::min(*seen.core_hertz_before, *seen.core_hertz_after);
    here.time.hertz_high = std::max(*seen.core_hertz_before, *seen.core_hertz_after);
  }
  return here;
}

std::optional<double> LoadedAndStored(const Record& record) {
  double sum = 0;
  for (const char* event : {"exact/load_bytes", "exact/store_bytes"}) {
    const auto found = record.events.find(event);
    if (found == record.events.end() || !found->second) return std::nullopt;
    sum += *found->second;
  }
  return sum;
}

void AddTo(Record& record, const CoreRates& rates, const Surroundings& here) {
  if (!record.seconds || !(record.seconds->median > 0)) return;
  const double beyond_caches = std::max(0.0, record.bytes.value_or(0) - here.last_cache);
  if (const std::optional<CoreWork> work = CoreWorkOf(record.events)) {
    CoreTime time = here.time;
    time.seconds = record.seconds->median;
    time.memory_bytes = beyond_caches;
    record.topdown_bounds = BoundTopdown(*work, time, rates);
  }
  if (record.flops.value_or(0) == 0) return;
  Roofline roofline;
  // (comparisons, as in a maximum over windows, are operations that no FP_ARITH event counts)
  constexpr double kLeastExecuted = 0.1;
  roofline.counted = record.flops_counted.value_or(0) > kLeastExecuted * *record.flops;
  roofline.flops = roofline.counted ? *record.flops_counted : *record.flops;
  roofline.seconds = record.seconds->median;
  roofline.l1_bytes = LoadedAndStored(record);
  roofline.dram_bytes = record.bytes;
  roofline.dram_applies = beyond_caches > 0;
  if (record.ceiling_flops_per_second) {
    roofline.compute = Roof{record.ceiling_name, *record.ceiling_flops_per_second};
  }
  roofline.l1 = here.l1;
  roofline.dram = here.dram;
  record.roofline = roofline;
}

}  // namespace

void AddBounds(const CoreRates& rates, const std::vector<Ceiling>& ceilings,
               const std::vector<Cache>& caches, const Disturbance& seen, Report& report) {
  const Surroundings here = SurroundingsOf(rates.threads, ceilings, caches, seen);
  for (Record& stage : report.stages) AddTo(stage, rates, here);
  AddTo(report.step, rates, here);
}

}  // namespace topdnn
