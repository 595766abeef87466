#include "bench/profile/limits/stage_bounds.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace topdnn {

namespace {

double InstructionCache(const std::vector<Cache>& caches) {
  for (const Cache& cache : caches) {
    if (cache.level == 1 && cache.type == "instruction") return static_cast<double>(cache.size);
  }
  return 0;
}

// Of all last caches that the threads may use.
double LastCaches(const std::vector<Cache>& caches, int threads) {
  Topology topology;
  topology.caches = caches;
  const auto size = static_cast<double>(LastCacheBytes(topology, threads));
  return size > 0 ? size : std::numeric_limits<double>::infinity();
}

// Data common to every record of a report.
struct Surroundings {
  CoreTime time;  // except seconds and bytes
  double last_caches = 0;
  std::optional<Roof> l1, dram;
};

Surroundings SurroundingsOf(const BoundsMachine& machine) {
  Surroundings here;
  here.time = CoreTimeOf(machine);
  here.l1 = BandwidthRoof(machine.ceilings, "l1");
  here.dram = BandwidthRoof(machine.ceilings, "dram");
  // Ceilings are at the width of the rates, which an old recording lacks.
  const bool only_ceilings = !machine.rates && !machine.ceilings.empty();
  here.last_caches = LastCaches(
      machine.caches, only_ceilings ? machine.ceilings.front().threads : here.time.threads);
  if (here.dram) here.time.memory_bytes_per_second = here.dram->value;
  return here;
}

std::optional<double> LoadedAndStored(const Record& record) {
  double sum = 0;
  for (const char* event : {"exact/load_bytes", "exact/store_bytes"}) {
    const auto count = record.Event(event);
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

BoundsOrReason BoundsOf(const Record& record, const CoreWork& work, double beyond_caches,
                        const BoundsMachine& machine, const Surroundings& here) {
  if (std::string why = WhyNoBounds(record.status); !why.empty()) return {.reason = why};
  if (record.regime != machine.regime)
    return {.reason = "the core clock was not read around a stage by itself"};
  if (!machine.rates) return {.reason = "the rates of the cores were not recorded"};
  CoreTime time = here.time;
  time.seconds = record.seconds->median;
  time.memory_bytes = beyond_caches;
  return BoundTopdown(work, time, machine.pipeline, *machine.rates);
}

void AddTo(Record& record, const BoundsMachine& machine, const Surroundings& here) {
  if (!record.seconds || !(record.seconds->median > 0)) return;
  const double beyond_caches = std::max(0.0, record.bytes.value_or(0) - here.last_caches);
  if (const std::optional<CoreWork> work = CoreWorkOf(record.events)) {
    BoundsOrReason made = BoundsOf(record, *work, beyond_caches, machine, here);
    record.topdown_bounds = std::move(made.bounds);
    record.bounds_reason = std::move(made.reason);
  } else if (record.events.contains("exact/instructions")) {
    record.bounds_reason = "a count that the bounds need is absent";
  }
  if (record.flops.value_or(0) == 0) return;
  Roofline roofline;
  // (no FP_ARITH event counts comparisons, as in a maximum over windows)
  constexpr double kMinExecuted = 0.1;
  roofline.counted = record.flops_counted.value_or(0) > kMinExecuted * *record.flops;
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

CoreTime CoreTimeOf(const BoundsMachine& machine) {
  CoreTime time;
  if (machine.rates) time.threads = machine.rates->threads;
  time.instruction_cache = InstructionCache(machine.caches);
  const Disturbance& seen = machine.seen;
  if (seen.core_hertz_before && seen.core_hertz_after) {
    time.hertz_low = std::min(*seen.core_hertz_before, *seen.core_hertz_after);
    time.hertz_high = std::max(*seen.core_hertz_before, *seen.core_hertz_after);
  }
  return time;
}

void AddBounds(const BoundsMachine& machine, Report& report) {
  const Surroundings here = SurroundingsOf(machine);
  for (Record& stage : report.stages) AddTo(stage, machine, here);
  AddTo(report.step, machine, here);
}

void AddBounds(const BoundsMachine& machine, Record& record) {
  AddTo(record, machine, SurroundingsOf(machine));
}

}  // namespace topdnn
