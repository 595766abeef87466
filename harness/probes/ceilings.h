// What this machine can do at best, measured by the probes: a stage's speed is told as a share of
// these, not of a data sheet that knows neither this clock nor these neighbours.

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
  std::optional<double> spread;  // |value - median| / value
  int windows = 0;
  std::string note;  // what limits its meaning: the working set, ...
  // SKIPPED: absent, the reason says why. DEGRADED: measured on a disturbed machine. INVALID: it
  // contradicts itself or another ceiling, and nothing may be held to it.
  Verdict verdict;
};

// Every ceiling at one width, those that this machine cannot have included with the reason. All
// threads of a team start together and the work counts until the last has ended. `budget_seconds`
// is for the timed windows; filling the buffers takes some 0.3 s more.
std::vector<Ceiling> MeasureCeilings(int threads, double budget_seconds = 1.0);

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
