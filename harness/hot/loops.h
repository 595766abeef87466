// Basic blocks, the edges between them, and the loops that they form.
//
// A loop is a strongly connected component of the executed edges. Its header is the block that is
// entered most from outside; without the edges back to the header, the component splits into the
// loops inside it (Steensgaard, "Sequentializing program graphs for sequential machines", 1993).

#ifndef TOPDNN_HARNESS_HOT_LOOPS_H_
#define TOPDNN_HARNESS_HOT_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace topdnn {

// Instructions that are always executed together.
struct BasicBlock {
  std::uint64_t times = 0;
  std::size_t first = 0, count = 0;  // its instructions
};

struct FlowEdge {
  std::size_t from = 0, to = 0;  // blocks
  std::uint64_t times = 0;
};

// Blocks in the order of their addresses, edges in the order of their first blocks. A call is
// followed by the code after it.
struct FlowGraph {
  std::vector<BasicBlock> blocks;
  std::vector<FlowEdge> edges;
};

struct Loop {
  std::size_t header = 0;
  std::vector<std::size_t> blocks;    // with those of inner loops, in ascending order
  std::vector<std::size_t> own;       // without them
  std::optional<std::size_t> parent;  // the loop around it
  std::uint64_t iterations = 0, entries = 0;
  std::uint64_t instructions = 0;  // executed in its own blocks
};

// An outer loop comes before the loops inside it.
std::vector<Loop> FindLoops(const FlowGraph& graph);

// The loop's own blocks on its most frequent path, in the order of execution from the header.
std::vector<std::size_t> MainPath(const FlowGraph& graph, const std::vector<Loop>& loops,
                                  std::size_t loop);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_LOOPS_H_
