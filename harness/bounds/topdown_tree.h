// One tree of Top-Down nodes for a region, from every kind of evidence that there is. Pure.
//
//   Retiring | Core_Bound | Memory_Bound | Bad_Speculation | Waiting | Rest         (level 1)
//                           Memory_Bound: L1_L2_Bound | L3_Bound | DRAM_Bound
//
// Names and meaning are Yasin's (A Top-Down Method for Performance Analysis and Counters
// Architecture, ISPASS 2014), with three differences. Memory_Bound is what waits beyond L1, since
// that is what an experiment can remove: waits for L1 itself are Core_Bound. L1_L2_Bound is the
// part of it that the second level serves. Rest is the front end and what no evidence claims.
// Waiting is the time of threads that wait for each other; on one thread there is none.
//
// Each node is an interval. The nodes of level 1 add up to 1, and the three parts add up to
// Memory_Bound: so no node exceeds what the lower ends of the others leave, and none is less than
// what their upper ends leave.

#ifndef TOPDNN_HARNESS_BOUNDS_TOPDOWN_TREE_H_
#define TOPDNN_HARNESS_BOUNDS_TOPDOWN_TREE_H_

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/statistics/interval.h"

namespace topdnn {

enum class TreeNode {
  kRetiring,
  kCoreBound,
  kMemoryBound,
  kL1L2Bound,
  kL3Bound,
  kDramBound,
  kBadSpeculation,
  kWaiting,
  kRest
};
inline constexpr std::size_t kTreeNodes = 9;
inline constexpr TreeNode kLevelOne[] = {TreeNode::kRetiring,    TreeNode::kCoreBound,
                                         TreeNode::kMemoryBound, TreeNode::kBadSpeculation,
                                         TreeNode::kWaiting,     TreeNode::kRest};
inline constexpr TreeNode kPartsOfMemory[] = {TreeNode::kL1L2Bound, TreeNode::kL3Bound,
                                              TreeNode::kDramBound};

// "Retiring", "Core_Bound", ...: the keys of the JSON.
std::string_view NameOf(TreeNode node);

enum class Provenance {
  kRead,        // from the counters of a PMU
  kCounted,     // from exact counts
  kExperiment,  // from times with and without what the node waits for
  kBound        // what the other nodes leave
};
std::string_view NameOf(Provenance provenance);

struct NodeShare {
  double low = 0;
  double high = 1;
  Provenance provenance = Provenance::kBound;

  double middle() const { return (low + high) / 2; }
};

class TopdownTree {
 public:
  // Absent: the region has no such node.
  std::optional<NodeShare>& operator[](TreeNode node) {
    return nodes_[static_cast<std::size_t>(node)];
  }
  const std::optional<NodeShare>& operator[](TreeNode node) const {
    return nodes_[static_cast<std::size_t>(node)];
  }

 private:
  std::array<std::optional<NodeShare>, kTreeNodes> nodes_;
};

// What is known of a region, as shares of its time on all its threads. Absent: not known.
struct TreeEvidence {
  int threads = 1;
  std::optional<Interval> retiring, core, bad_speculation;  // from counts
  std::optional<double> frontend;                           // at most, from counts
  std::optional<double> lost;         // at most: bad speculation and the front end together
  std::optional<Interval> beyond_l1;  // the experiment `core`
  std::optional<Interval> beyond_l2, l3, dram;  // the experiment `memory`
  std::optional<Interval> waiting;              // threads that wait for each other
  // Nodes of a PMU by their names, with those of deeper levels that it has; or null.
  const std::map<std::string, std::optional<double>>* read = nullptr;
};

// A tree and, if part of the evidence was not used, the reason; or only the reason.
struct TreeOrReason {
  std::optional<TopdownTree> tree = {};
  std::string reason = {};
};

// The nodes that the evidence leaves possible. What waits beyond L1 includes what waits beyond L2,
// so if `core` finds less than `memory`, neither is used.
TreeOrReason BuildTree(const TreeEvidence& evidence);

// A part of a region. null: it has no tree, and its nodes may be anything.
struct TreePart {
  double seconds = 0;
  const TopdownTree* tree = nullptr;
};

// The tree of the parts together, weighted by their times. Absent if no part has a tree.
std::optional<TopdownTree> SumOfTrees(std::span<const TreePart> parts);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_BOUNDS_TOPDOWN_TREE_H_
