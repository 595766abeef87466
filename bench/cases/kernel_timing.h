// Times one kernel by itself, with hot or cold caches.

#ifndef TOPDNN_BENCH_CASES_KERNEL_TIMING_H_
#define TOPDNN_BENCH_CASES_KERNEL_TIMING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "harness/counters/source.h"
#include "harness/record.h"

namespace topdnn {

struct KernelTiming {
  bool cold = false;                       // empty the caches of the inputs before each run
  std::optional<std::int64_t> iterations;  // absent: as many as fit in `seconds`, but at least 5
  double seconds = 0.2;
  bool warm = false;  // the kernel has just been measured: one iteration of warm-up
  // A source that runs the kernel itself, such as the exact counter: one iteration more, which is
  // not timed. Not owned; nullptr: none.
  CounterSource* counted_by = nullptr;
};

// The record of the kernel: times, implementation, ISA, FLOPs, bytes and counts. `samples` gets the
// seconds of each run. An interrupt ends it early.
Record MeasureKernel(const std::string& name, KernelCase& kernel, const KernelTiming& timing,
                     std::vector<double>& samples);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_KERNEL_TIMING_H_
