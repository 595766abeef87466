// Microkernels whose work is known by construction: so many FLOPs, bytes, instructions and branches
// an iteration, because each is a loop written in assembly. One set serves three uses: the
// machine's ceilings, the validation of counters and exact counts, and the neighbours that disturb
// a measurement on purpose.

#ifndef TOPDNN_HARNESS_PROBES_PROBE_H_
#define TOPDNN_HARNESS_PROBES_PROBE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/isa.h"
#include "harness/probes/buffers.h"

namespace topdnn {

// What one iteration does. A call adds a few instructions before and after its loop: counts are
// exact as the difference between two calls that differ in their iterations.
struct ProbeWork {
  double flops = 0;         // multiplications and additions (an integer dot product's likewise)
  double bytes_loaded = 0;  // by the program; a store's own fetch of its line is not among them
  double bytes_stored = 0;
  double instructions = 0;  // `rep movsb` is one
  double branches = 0;      // conditional jumps, the loop's own included
  double loads = 0;         // load instructions (a dependent chain's length for a chase)
  double stores = 0;        // store instructions, where they are a resource of their own
  double cycles = 0;        // where latency alone decides; 0: not known
};

// The element type, and the shape of the register block, of a probe that multiplies and adds.
//   acc[row][column][lane] += sum over depth: rows[row][depth] * columns[column][lane][depth]
// per step; `rows` are broadcast.
struct FmaShape {
  std::string type;  // "f32", "f64", "bf16", "f16", "s8"
  bool streamed;     // operands come from L1; otherwise from two registers
  int rows;
  int columns;
  int lanes;                     // accumulators a vector (of a tile: 16 x 16)
  int depth;                     // products summed into one accumulator: 1; 2 for bf16, 4 for int8
  int steps;                     // steps an iteration
  int row_step;                  // bytes of the row panel a step moves on
  int column_step;               // likewise of the column panel
  bool rows_replicated = false;  // SSE2: each row value stands in memory once per lane
  bool tiles = false;            // AMX
};

enum class ProbeKind { kFma, kRead, kTriad, kCopy, kChase, kBranch, kClock, kCore };

struct Probe {
  std::string name;  // "fma/avx512/f32/l1", "read/avx2", "chase", "branch/random"
  ProbeKind kind;
  Isa isa;
  ProbeWork work;
  // Fills the buffers with what the probe expects, from a seed.
  void (*prepare)(const Probe& probe, ProbeBuffers& buffers, Fill fill, std::uint64_t seed);
  // Runs `iterations` > 0. Neither allocates, locks nor throws.
  void (*run)(ProbeBuffers& buffers, std::int64_t iterations);
  std::optional<FmaShape> fma;
};

// Every probe of this architecture, whether or not this CPU can run it.
const std::vector<Probe>& Probes();
// The probe of that name, or nullptr.
const Probe* FindProbe(std::string_view name);

// The widest probe of a kind that this machine can run, of those that multiply and add the one of
// `type` fed from L1; nullptr where there is none.
const Probe* WidestProbe(ProbeKind kind, std::string_view type = {});

// Why the probe cannot run on a machine with these ISAs; empty: it can. Pure.
std::string WhyAbsent(const Probe& probe, const std::vector<IsaVerdict>& isas);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_PROBE_H_
