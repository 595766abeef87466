// The blocks that a counted region executed: how often, and their code.
//
// The code is copied at the end of the count, because a just-in-time compiler may reuse its memory.

#ifndef TOPDNN_HARNESS_EXACT_BLOCK_PROFILE_H_
#define TOPDNN_HARNESS_EXACT_BLOCK_PROFILE_H_

#include <cstdint>
#include <map>
#include <vector>

namespace topdnn {

// Code that was executed `times` times from its first instruction to its last. Blocks may overlap
// where code was entered at several places: the executions of an instruction are their sum.
struct ExecutedBlock {
  std::uint64_t start = 0, end = 0;  // addresses
  std::uint64_t times = 0;
  bool openmp = false;             // of the OpenMP runtime, which also waits
  std::vector<std::uint8_t> code;  // empty if it could not be read any more
};

// A conditional branch. Executions in blocks that are entered in different ways are followed
// separately: how many go in the rarer direction, and their pairs of runs: so many that are not
// taken, and so many taken ones. A pair is irregular if its lengths differ from those of the pair
// before.
struct ExecutedBranch {
  std::uint64_t address = 0, taken = 0, not_taken = 0, rarer = 0, pairs = 0, irregular = 0;
};

// All threads of the region together; in the order of their addresses.
struct BlockProfile {
  std::vector<ExecutedBlock> blocks;
  std::vector<ExecutedBranch> branches;
  // Of the products of tiles, by the instruction's address: their operations depend on the
  // configuration of the tiles.
  std::map<std::uint64_t, std::uint64_t> tile_operations;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_BLOCK_PROFILE_H_
