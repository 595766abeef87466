// The loops that a region executes, as counted exactly, with what the core model says of them.

#ifndef TOPDNN_HARNESS_HOT_HOT_LOOPS_H_
#define TOPDNN_HARNESS_HOT_HOT_LOOPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/hot/binding.h"

namespace topdnn {

// A loop without the loops inside it. Amounts are those of one iteration on the loop's most
// frequent path.
struct HotLoop {
  std::string place;                 // "JIT jit_avx512_common_conv_fwd_kernel+0x2b50"
  double instruction_share = 0;      // of the region's
  std::optional<double> flop_share;  // absent: the region executes no FLOPs
  std::uint64_t iterations = 0, entries = 0;
  double instructions = 0, flops = 0, fmas = 0, loads = 0, stores = 0, load_bytes = 0;
  double spills = 0;             // stores of vectors to the stack
  std::optional<double> cycles;  // of an iteration, modelled
  // What takes the model's cycles, from the most to the fewest: {"FMA", cycles of an iteration}.
  std::vector<std::pair<std::string, double>> units;
  // Of the longest chain of dependent instructions, per iteration.
  double chain_cycles = 0, chain_instructions = 0, chain_fmas = 0;
  std::optional<HotBinding> binding;
  std::string binding_reason;        // why there is none; or empty
  std::vector<std::string> listing;  // empty unless requested
};

// The loops of a region with the largest shares first; small loops are left out.
struct HotLoops {
  std::uint64_t instructions = 0, flops = 0;
  std::uint64_t blocks = 0, blocks_of_95_percent = 0;
  std::vector<HotLoop> loops;
  // Of the region on all threads together, modelled, and what takes them.
  std::optional<double> cycles;
  std::vector<std::pair<std::string, double>> units;
  // Slots that the region takes at most, and those of a cycle, as measured. Absent without costs.
  std::optional<double> most_slots, dispatch_width;
  std::optional<HotBinding> binding;  // of the loop that takes the most cycles
  std::string binding_reason;         // why there is none; or empty

  bool listed() const { return !loops.empty() && !loops.front().listing.empty(); }
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_HOT_LOOPS_H_
