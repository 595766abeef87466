// Times one kernel by itself, with hot or cold caches.

#ifndef TOPDNN_BENCH_CASES_KERNEL_TIMING_H_
#define TOPDNN_BENCH_CASES_KERNEL_TIMING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "harness/counters/source.h"
#include "harness/measure.h"
#include "harness/record.h"

namespace topdnn {

struct KernelTiming {
  bool cold = false;                       // empty the caches of the inputs before each run
  std::optional<std::int64_t> iterations;  // absent: as many as fit in `seconds`, but at least 5
  double seconds = 0.2;
  bool warm = false;  // the kernel has just been measured: one iteration of warm-up
  // What counts: after the timed iterations, in further ones. Not owned. If one of them runs the
  // kernel itself, as the exact counter does, the core's clock is read before and after the timed
  // iterations: counts are compared with cycles.
  std::vector<CounterSource*> sources = {};
};

struct MeasuredKernel {
  Record record;            // times, implementation, ISA, FLOPs, bytes and counts
  SequenceSamples samples;  // of the kernel as the only stage
};

// An interrupt ends it early.
MeasuredKernel MeasureKernel(const std::string& name, KernelCase& kernel,
                             const KernelTiming& timing);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_KERNEL_TIMING_H_
