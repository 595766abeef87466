// A random trace, the same for a seed on every platform: it is computed with whole numbers, and the
// numbers of std::mt19937_64 are defined by the C++ standard. Pure.

#ifndef TOPDNN_HARNESS_SCHEDULING_TRACE_GENERATOR_H_
#define TOPDNN_HARNESS_SCHEDULING_TRACE_GENERATOR_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/scheduling/trace.h"

namespace topdnn {

// A kind of job to draw from.
struct NominalJob {
  std::string_view network;
  bool training = false;
  int batch = 1;
  int step_microseconds = 1;  // of a step on one CPU, roughly
};

struct TraceSettings {
  int jobs = 8;
  std::uint64_t seed = 1;
  // The work that arrives, divided by the work that the CPUs can do, in percent. Above 100, the
  // queue grows.
  int load_percent = 100;
  int cpus = 2;
  int mean_milliseconds = 2500;  // of a job on one CPU, roughly
};

// Jobs of `kinds`, each equally likely. The work of a job is uniform between 0.5 and 1.5 times the
// mean. The times between arrivals are exponential; the first job arrives at 0. A maximum width is
// 1, 2, 4 or 8, and at most `cpus`; a minimum width is 1. On average, one job of four has priority
// 1; the others have 0. Arrivals are whole milliseconds. Throws InputError for an arrival after
// kLastArrival.
std::vector<TraceJob> GenerateTrace(const TraceSettings& settings,
                                    std::span<const NominalJob> kinds);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SCHEDULING_TRACE_GENERATOR_H_
