// What this machine can do at best, measured by the probes: a stage's speed is given as a share of
// these, not of a data sheet, which has another clock and no neighbours.

#ifndef TOPDNN_HARNESS_PROBES_CEILINGS_H_
#define TOPDNN_HARNESS_PROBES_CEILINGS_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/topology.h"
#include "harness/probes/probe.h"
#include "harness/status.h"

namespace topdnn {

struct Ceiling {
  std::string name;      // "fma/avx512/f32/l1", "read/dram", "latency/l2"
  std::string isa;       // of the probe
  std::string type;      // "f32", ...; empty for memory
  std::string operands;  // FMA: "registers" or "l1"; memory: "l1", "l2", "llc", "dram"
  int threads = 1;
  // The 90th percentile of the windows: a neighbour only ever takes, and one lucky window (a clock
  // read across a pause) is not a ceiling. A latency's is the 10th. Absent: not measured.
  std::optional<double> value;
  std::string unit;              // "FLOP/s" (integer operations: "OP/s"), "B/s", "s"
  std::optional<double> median;  // of the windows
  // The share that the median window lacks of the value (a latency's value, of its median).
  std::optional<double> spread;
  // What one of the threads reached by itself between the windows of all; absent on one thread, and
  // where its own working set is none of that level.
  std::optional<double> alone;
  // The share of the time in which the threads had a CPU, in the windows in which they had it most
  // (the 90th percentile): without other work it is 1.
  std::optional<double> on_cpu;
  int windows = 0;
  std::string note;  // what limits its meaning: the working set, ...
  // SKIPPED: absent, the reason says why. DEGRADED: measured on a disturbed machine. INVALID: it
  // contradicts itself or another ceiling, and nothing may be held to it.
  Verdict verdict;
};

// Every ceiling at one width, with its verdict (ceiling_verdict.h); those that this machine cannot
// have are included with the reason. `budget_seconds` is for the timed windows, and as much again
// for those that are disturbed and tried once more; filling the buffers takes some 0.3 s.
std::vector<Ceiling> MeasureCeilings(int threads, double budget_seconds = 1.0);

// Measures those of these names again, each on as many threads as before, and reconciles them with
// the earlier values: for the end of a run that started with MeasureCeilings. The other ceilings
// stay as they are. Each of those in DRAM costs 0.1 s more than the budget.
std::vector<Ceiling> RemeasureCeilings(const std::vector<Ceiling>& previous,
                                       const std::vector<std::string>& names,
                                       double budget_seconds = 0.3);

// The ceiling to put a kernel against: the multiply-add one fed from L1, of the ISA as kernels name
// theirs ("avx512", "avx2", "amx", "sse41"; an extension is found from its family's name by type:
// avx512 with bf16 is avx512_bf16), of that type and width. Or nullptr.
const Ceiling* CeilingFor(const std::vector<Ceiling>& ceilings, std::string_view isa,
                          std::string_view type, int threads);

// Bytes per thread that make a working set live in a level ("l1", "l2", "llc", "dram"), a power of
// two, when `threads` work at once; 0 with the reason in `note` when there is none. `memory`: bytes
// that may be used in all. Pure.
std::size_t WorkingSet(const Topology& topology, std::string_view level, int threads,
                       std::size_t memory, std::string& note);

nlohmann::ordered_json ToJson(const Ceiling& ceiling);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_CEILINGS_H_
