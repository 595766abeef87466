// Microkernels with known work: each is a loop in assembly, so its FLOPs, bytes, instructions and
// branches per iteration are known. They measure the machine's ceilings, validate counters and
// exact counts, and disturb measurements on purpose.

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

// The work of one iteration. A call also executes a few instructions before and after the loop, so
// exact counts are the difference between two calls with different iterations.
struct ProbeWork {
  double flops = 0;  // multiplications and additions, also of integer dot products
  double bytes_loaded =
      0;  // by load instructions; the fetch of a line before a store is not included
  double bytes_stored = 0;
  double instructions = 0;  // `rep movsb` is one
  double branches = 0;      // conditional jumps, including the loop's
  double loads = 0;         // load instructions (for a chase: the length of the dependent chain)
  double stores = 0;        // store instructions, if the probe measures them
  double cycles = 0;        // if only latency matters; 0: not known
};

// Element type and register block of a multiply-add probe. Each step computes
//   acc[row][column][lane] += sum over depth: rows[row][depth] * columns[column][lane][depth]
// with `rows` broadcast.
struct FmaShape {
  std::string type;  // "f32", "f64", "bf16", "f16", "s8"
  bool streamed;     // operands come from L1; false: from two registers
  int rows;
  int columns;
  int lanes;                     // accumulators per vector (tile: 16 x 16)
  int depth;                     // products summed into one accumulator: 1; 2 for bf16, 4 for int8
  int steps;                     // per iteration
  int row_step;                  // bytes of the row panel per step
  int column_step;               // bytes of the column panel per step
  bool rows_replicated = false;  // SSE2: each row value is stored once per lane
  bool tiles = false;            // AMX
};

enum class ProbeKind { kFma, kRead, kTriad, kCopy, kChase, kBranch, kClock, kCore };

struct Probe {
  std::string name;  // "fma/avx512/f32/l1", "read/avx2", "chase", "branch/random"
  ProbeKind kind;
  Isa isa;
  ProbeWork work;
  // Fills the buffers with the operands of the probe, from a seed.
  void (*prepare)(const Probe& probe, ProbeBuffers& buffers, Fill fill, std::uint64_t seed);
  // Runs `iterations` > 0. Does not allocate, lock or throw.
  void (*run)(ProbeBuffers& buffers, std::int64_t iterations);
  std::optional<FmaShape> fma;
};

// Every probe of this architecture, including those that this CPU cannot run.
const std::vector<Probe>& Probes();
// The probe with this name, or nullptr.
const Probe* FindProbe(std::string_view name);

// The widest probe of a kind that this machine can run; nullptr if there is none. For
// multiply-adds: of this `type`, with operands from L1.
const Probe* WidestProbe(ProbeKind kind, std::string_view type = {});

// Why the probe cannot run on a machine with these ISAs; empty if it can. Pure.
std::string WhyAbsent(const Probe& probe, const std::vector<IsaVerdict>& isas);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_PROBE_H_
