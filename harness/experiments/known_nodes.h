// Nodes of the Top-Down tree (harness/bounds/topdown_tree.h) of code whose split is known: the node
// must contain the truth.
//
// Loops of a few instructions, written out, are known to retire one operation per instruction (a
// decrement and the branch on it are one), to wait for no data, and to be predicted. So Retiring is
// their operations over the slots of their cycles, and Core_Bound is what is left. A branch on a
// random bit, or on one that repeats, costs what the same loop is faster on equal bits. Of threads
// with shares of known length, the shorter ones wait.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_KNOWN_NODES_H_
#define TOPDNN_HARNESS_EXPERIMENTS_KNOWN_NODES_H_

#include <functional>
#include <string_view>
#include <vector>

#include "harness/experiments/known_mixes.h"
#include "harness/probes/core_rates.h"
#include "harness/topdown/pipeline.h"

namespace topdnn {

// A result for each node of each loop. `rates`: of one thread. Empty on another architecture than
// x86-64. `say` is called with the name of each loop.
std::vector<MixResult> RunKnownNodes(const CorePipeline& pipeline, const CoreRates& rates,
                                     int threads, const std::function<void(std::string_view)>& say);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_KNOWN_NODES_H_
