// The counter sources that `--counters` asks for.

#ifndef TOPDNN_BENCH_WORKLOAD_SOURCES_H_
#define TOPDNN_BENCH_WORKLOAD_SOURCES_H_

#include <memory>
#include <string>
#include <vector>

#include "harness/counters/source.h"

namespace topdnn {

struct OpenedSources {
  std::vector<std::unique_ptr<CounterSource>> sources;
  std::vector<std::string> notes;  // why a requested source is missing, one line each
  std::string without_pmu;         // why the requested PMU does not count, and what helps

  std::vector<CounterSource*> Pointers() const;
};

// `auto`: every source that works, in addition to the clock, which always runs. `clock`, `none`:
// times only. Otherwise the sources of that choice (SourceOffer::choice): `perf`, the hardware's
// and the kernel's events; `exact`, the exact counter. Throws UsageError for other names.
// `metrics`: what `perf` counts, "topdown-l2,flops"; empty: its default.
OpenedSources OpenSources(const std::string& counters, const std::string& metrics = "");

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_SOURCES_H_
