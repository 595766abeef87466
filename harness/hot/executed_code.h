// The instructions that a region executed, as basic blocks with the edges between them, from the
// counter's blocks. The OpenMP runtime is left out: it mostly waits.

#ifndef TOPDNN_HARNESS_HOT_EXECUTED_CODE_H_
#define TOPDNN_HARNESS_HOT_EXECUTED_CODE_H_

#include <cstdint>
#include <vector>

#include "harness/exact/block_profile.h"
#include "harness/exact/instructions/decode.h"
#include "harness/hot/loops.h"

namespace topdnn {

struct ExecutedInstruction {
  Instruction code;
  std::uint64_t times = 0;
  std::uint64_t taken = 0;  // of a conditional branch
  Tally counts;             // of one execution
  std::uint64_t flops = 0;  // of one execution
  // Of all executions together.
  std::uint64_t tile_flops = 0, tile_int8_ops = 0;

  double MeanFlops() const {
    return static_cast<double>(flops) +
           (times == 0 ? 0 : static_cast<double>(tile_flops) / static_cast<double>(times));
  }
};

struct ExecutedCode {
  std::vector<ExecutedInstruction> instructions;  // in the order of their addresses
  FlowGraph graph;
  std::uint64_t executed = 0, flops = 0;  // instructions, floating-point operations
};

ExecutedCode ReadExecutedCode(const BlockProfile& profile);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_EXECUTED_CODE_H_
