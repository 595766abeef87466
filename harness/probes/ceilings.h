// The best rates of this machine, measured by the probes. A stage's speed is given as a share of
// these, not of a data sheet, which assumes another clock and no neighbours.

#ifndef TOPDNN_HARNESS_PROBES_CEILINGS_H_
#define TOPDNN_HARNESS_PROBES_CEILINGS_H_

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/topology.h"
#include "harness/probes/probe.h"
#include "harness/statistics/status.h"

namespace topdnn {

struct Ceiling {
  std::string name;      // "fma/avx512/f32/l1", "read/dram", "latency/l2"
  std::string isa;       // of the probe
  std::string type;      // "f32", ...; empty for memory
  std::string operands;  // FMA: "registers" or "l1"; memory: "l1", "l2", "llc", "dram"
  int threads = 1;
  // The 90th percentile of the windows. Neighbours only lower a rate, but a single very high window
  // (such as a clock read across a pause) is not a ceiling. For a latency: the 10th percentile.
  // Absent: not measured.
  std::optional<double> value;
  std::string unit;              // "FLOP/s" (integer operations: "OP/s"), "B/s", "s"
  std::optional<double> median;  // of the windows
  // The relative difference between value and median window.
  std::optional<double> spread;
  // The rate of one thread alone, measured between the other windows. Absent for one thread, for a
  // latency, and if its own working set belongs to another level.
  std::optional<double> alone;
  // The share of time in which the threads had a CPU: the 90th percentile of the windows. 1 without
  // other work.
  std::optional<double> on_cpu;
  int windows = 0;
  bool undisturbed = false;  // the windows are those that were undisturbed (QuietWindows)
  std::string note;          // restrictions: the working set, ...
  // SKIPPED: no value, the reason says why. DEGRADED: measured on a disturbed machine. INVALID:
  // contradicts itself or another ceiling; no stage may be compared with it.
  Verdict verdict;
};

// Measures the ceilings for which `needed` returns true (empty: all) on `threads` threads, with a
// verdict (ceiling_verdict.h). It is called with ceilings that have no value yet. The others, and
// those that this machine cannot have, are included with the reason. `budget_seconds` is the time
// for the windows of all ceilings, and fewer take their share of it; repeating disturbed ones may
// take as long again, and filling the buffers takes about 0.3 s.
std::vector<Ceiling> MeasureCeilings(int threads, double budget_seconds,
                                     const std::function<bool(const Ceiling&)>& needed = {});

// Measures the ceilings of these names again, with the same numbers of threads, and combines them
// with the earlier values. Used at the end of a run that began with MeasureCeilings. The other
// ceilings do not change. Each ceiling in DRAM takes 0.1 s more than the budget.
std::vector<Ceiling> RemeasureCeilings(const std::vector<Ceiling>& previous,
                                       const std::vector<std::string>& names,
                                       double budget_seconds);

// The ceiling for a kernel: multiply-adds with operands from L1, of this ISA, type and width. `isa`
// as kernels name it ("avx512", "avx2", "amx", "sse41"); the type selects an extension (avx512 with
// bf16 is avx512_bf16). nullptr if there is none.
const Ceiling* CeilingFor(const std::vector<Ceiling>& ceilings, std::string_view isa,
                          std::string_view type, int threads);

// Bytes per thread of a working set that fits the level ("l1", "l2", "llc", "dram") but no nearer
// one when `threads` threads work at once: a power of two. 0 if there is none; `note` then gives
// the reason. `memory`: bytes that may be used in total. Pure.
std::size_t WorkingSet(const Topology& topology, std::string_view level, int threads,
                       std::size_t memory, std::string& note);

nlohmann::ordered_json ToJson(const Ceiling& ceiling);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_CEILINGS_H_
