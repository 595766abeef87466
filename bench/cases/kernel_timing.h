// Times one kernel by itself, with hot or cold caches.

#ifndef TOPDNN_BENCH_CASES_KERNEL_TIMING_H_
#define TOPDNN_BENCH_CASES_KERNEL_TIMING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "harness/counters/source.h"
#include "harness/measure/measure.h"
#include "harness/results/record.h"

namespace topdnn {

struct KernelTiming {
  bool cold = false;                       // remove the inputs from the caches before each run
  std::optional<std::int64_t> iterations;  // absent: as many as fit in `seconds`, 5 to 1000
  double seconds = 0.2;
  bool warm = false;  // the kernel has just been measured: one iteration of warm-up
  // The counter sources, which count in further iterations after the timed ones. Not owned. If one
  // of them runs the kernel itself, as the exact counter does, the core's clock is read before and
  // after the measurement, since its counts are compared with cycles.
  std::vector<CounterSource*> sources = {};
  bool reads_clock = false;  // read it also without such a source
};

struct MeasuredKernel {
  Record record;            // times, implementation, ISA, FLOPs, bytes and counts
  SequenceSamples samples;  // of the kernel as the only stage
};

// An interrupt (interrupt.h) ends it early; the record then may have no time.
MeasuredKernel MeasureKernel(const std::string& name, KernelCase& kernel,
                             const KernelTiming& timing);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_KERNEL_TIMING_H_
