// The counter sources that `--counters` asks for.

#ifndef TOPDNN_BENCH_SOURCES_H_
#define TOPDNN_BENCH_SOURCES_H_

#include <memory>
#include <string>
#include <vector>

#include "harness/counters/source.h"

namespace topdnn {

struct OpenedSources {
  std::vector<std::unique_ptr<CounterSource>> sources;
  std::vector<std::string> notes;  // why a source that was wanted is not there, one line each
  std::string without_pmu;         // why the PMU, which was wanted, does not count, and what helps

  std::vector<CounterSource*> Pointers() const;
};

// `auto`: every source that works, besides the clock that always runs. `perf`: the hardware's and
// the kernel's events. `exact`: the exact counter. `clock`, `none`: times alone. Throws UsageError
// for anything else. `metrics`: what `perf` counts, "topdown-l2,flops"; empty: its choice.
OpenedSources OpenSources(const std::string& counters, const std::string& metrics = "");

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SOURCES_H_
