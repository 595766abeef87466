#include "harness/bounds/topdown_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace topdnn {

namespace {

constexpr std::array<std::string_view, kTreeNodes> kNodeNames = {
    "Retiring",   "Core_Bound",      "Memory_Bound", "L1_L2_Bound", "L3_Bound",
    "DRAM_Bound", "Bad_Speculation", "Waiting",      "Rest"};
// Rounding of a PMU's fields (8 bits), and its error while events share counters.
constexpr double kReadError = 0.01;
// Rounding of sums.
constexpr double kSumError = 1e-9;

double ClampShare(double share) { return std::clamp(share, 0.0, 1.0); }

NodeShare ShareOf(const std::optional<Interval>& known, Provenance provenance) {
  if (!known) return {};
  return {ClampShare(known->low), ClampShare(known->high), provenance};
}

// Narrows the present ones of `nodes` by their sum, which is in `total`. False if that is
// impossible.
bool NarrowBySum(std::span<const TreeNode> nodes, Interval total, TopdownTree& tree) {
  double low = 0;
  double high = 0;
  for (const TreeNode node : nodes) {
    if (!tree[node]) continue;
    low += tree[node]->low;
    high += tree[node]->high;
  }
  if (low > total.high + kSumError || high < total.low - kSumError) return false;
  for (const TreeNode node : nodes) {
    if (!tree[node]) continue;
    NodeShare& share = *tree[node];
    const double others_low = low - share.low;
    const double others_high = high - share.high;
    const double least = std::max(share.low, total.low - others_high);
    const double most = std::min(share.high, total.high - others_low);
    // (equal but for rounding)
    share.low = ClampShare(std::min(least, most));
    share.high = ClampShare(std::max(least, most));
  }
  return true;
}

// Memory_Bound is in its interval and in the sum of its parts.
bool NarrowMemoryByParts(TopdownTree& tree) {
  Interval sum;
  for (const TreeNode part : kPartsOfMemory) {
    sum.low += tree[part]->low;
    sum.high += tree[part]->high;
  }
  NodeShare& memory = *tree[TreeNode::kMemoryBound];
  memory.low = std::max(memory.low, sum.low);
  memory.high = std::min(memory.high, sum.high);
  return memory.low <= memory.high + kSumError;
}

// `lost`: bad speculation and the front end together, at most.
bool NarrowAll(double lost, TopdownTree& tree) {
  constexpr Interval kWhole{1, 1};
  constexpr TreeNode kLost[] = {TreeNode::kBadSpeculation, TreeNode::kRest};
  constexpr TreeNode kKept[] = {TreeNode::kRetiring, TreeNode::kCoreBound, TreeNode::kMemoryBound,
                                TreeNode::kWaiting};
  if (!NarrowMemoryByParts(tree) || !NarrowBySum(kLevelOne, kWhole, tree) ||
      !NarrowBySum(kLost, {0, lost}, tree) || !NarrowBySum(kKept, {1 - lost, 1}, tree)) {
    return false;
  }
  const NodeShare& memory = *tree[TreeNode::kMemoryBound];
  return NarrowBySum(kPartsOfMemory, {memory.low, memory.high}, tree);
}

// Time that is not working time, or what other threads of the region wait for, is not spent waiting
// for memory: so the least share of the experiment's is of the time that is left.
NodeShare OfWorkingTime(NodeShare share, const NodeShare& waiting) {
  share.low *= 1 - waiting.high;
  return share;
}

void SetMemory(const TreeEvidence& given, const NodeShare& waiting, TopdownTree& tree) {
  constexpr Provenance kFrom = Provenance::kExperiment;
  const auto set = [&](TreeNode node, const std::optional<Interval>& known) {
    tree[node] = known ? OfWorkingTime(ShareOf(known, kFrom), waiting) : NodeShare{};
  };
  std::optional<Interval> memory = given.beyond_l1;
  if (given.beyond_l2) {
    if (!memory) memory = Interval{given.beyond_l2->low, 1};
    memory->low = std::max(memory->low, given.beyond_l2->low);
    memory->high = std::max(memory->low, memory->high);
  }
  set(TreeNode::kMemoryBound, memory);
  set(TreeNode::kL3Bound, given.l3);
  set(TreeNode::kDramBound, given.dram);
  std::optional<Interval> near;
  if (given.beyond_l1 && given.beyond_l2) {
    near = Interval{std::max(0.0, given.beyond_l1->low - given.beyond_l2->high),
                    std::max(0.0, memory->high - given.beyond_l2->low)};
  }
  set(TreeNode::kL1L2Bound, near);
  if (!given.beyond_l2) return;
  const double far = ClampShare(given.beyond_l2->high);
  for (const TreeNode node : {TreeNode::kL3Bound, TreeNode::kDramBound}) {
    NodeShare& share = *tree[node];
    share.high = std::min(share.high, far);
    share.low = std::min(share.low, share.high);
  }
  // Both are differences of noisy times. If they do not fit together, the smaller one is open.
  NodeShare& l3 = *tree[TreeNode::kL3Bound];
  NodeShare& dram = *tree[TreeNode::kDramBound];
  if (l3.low + dram.low > tree[TreeNode::kMemoryBound]->high) {
    (l3.low < dram.low ? l3 : dram) = NodeShare{0, far, Provenance::kBound};
  }
}

TopdownTree TreeOf(const TreeEvidence& given) {
  TopdownTree tree;
  tree[TreeNode::kRetiring] = ShareOf(given.retiring, Provenance::kCounted);
  tree[TreeNode::kCoreBound] = ShareOf(given.core, Provenance::kCounted);
  tree[TreeNode::kBadSpeculation] = ShareOf(given.bad_speculation, Provenance::kCounted);
  tree[TreeNode::kRest] = NodeShare{0, given.frontend.value_or(1), Provenance::kBound};
  NodeShare waiting{0, 0, Provenance::kCounted};
  if (given.threads > 1) {
    waiting = ShareOf(given.waiting, Provenance::kExperiment);
    tree[TreeNode::kWaiting] = waiting;
  }
  // (a share that is not known may be 0: the experiments stay as they are)
  SetMemory(given, given.waiting ? waiting : NodeShare{0, 0, Provenance::kBound}, tree);
  return tree;
}

std::optional<double> Read(const TreeEvidence& given, const char* name) {
  const auto found = given.read->find(name);
  return found == given.read->end() ? std::nullopt : found->second;
}

NodeShare ReadShare(double value) {
  return {ClampShare(value - kReadError), ClampShare(value + kReadError), Provenance::kRead};
}

// With a PMU its nodes take the place of those from counts and time. Threads that wait by spinning
// retire instructions, so there is no node for them.
bool IsRead(const TreeEvidence& given) {
  return given.read != nullptr && Read(given, "Retiring") &&
         (Read(given, "Backend_Bound") || Read(given, "Memory_Bound"));
}

TreeOrReason ReadTree(const TreeEvidence& given) {
  TreeEvidence without = given;
  without.threads = 1;
  without.retiring = without.core = without.bad_speculation = without.waiting = std::nullopt;
  without.frontend.reset();
  TopdownTree tree = TreeOf(without);
  constexpr std::pair<TreeNode, const char*> kNames[] = {
      {TreeNode::kRetiring, "Retiring"},
      {TreeNode::kBadSpeculation, "Bad_Speculation"},
      {TreeNode::kCoreBound, "Core_Bound"},
      {TreeNode::kMemoryBound, "Memory_Bound"}};
  // (L3_Bound and DRAM_Bound of the tables are shares of cycles, not of slots)
  for (const auto& [node, name] : kNames) {
    if (const std::optional<double> value = Read(given, name)) tree[node] = ReadShare(*value);
  }
  // Core_Bound of Intel's efficiency cores is only a part of it: full schedulers and buffers are
  // Resource_Bound, together with what waits for memory.
  if (Read(given, "Resource_Bound") && Read(given, "Core_Bound")) {
    tree[TreeNode::kCoreBound]->high = 1;
  }
  // Yasin's Memory_Bound also has the waits for L1 and for stores, so it may be above the
  // experiment's parts.
  if (Read(given, "Memory_Bound")) tree[TreeNode::kL1L2Bound] = NodeShare{};
  if (const std::optional<double> backend = Read(given, "Backend_Bound")) {
    const NodeShare whole = ReadShare(*backend);
    constexpr TreeNode kParts[] = {TreeNode::kCoreBound, TreeNode::kMemoryBound};
    if (!NarrowBySum(kParts, {whole.low, whole.high}, tree)) {
      tree[TreeNode::kMemoryBound] = NodeShare{};
      for (const TreeNode part : kPartsOfMemory) tree[part] = NodeShare{};
      NarrowBySum(kParts, {whole.low, whole.high}, tree);
    }
  }
  if (const std::optional<double> front = Read(given, "Frontend_Bound")) {
    tree[TreeNode::kRest]->low = ReadShare(*front).low;
    tree[TreeNode::kRest]->provenance = Provenance::kRead;
  }
  if (!NarrowAll(1, tree)) return {.reason = "the counters' nodes contradict each other"};
  return {.tree = tree};
}

std::string PercentsOf(const Interval& share) {
  return fmt::format("{:.0f} to {:.0f} %", share.low * 100, share.high * 100);
}

// Why the two experiments cannot both be right; empty if they can.
std::string WhyTheyContradict(const TreeEvidence& given) {
  if (!given.beyond_l1 || !given.beyond_l2) return "";
  if (given.beyond_l1->high >= given.beyond_l2->low) return "";
  return fmt::format(
      "the experiments contradict each other: {} waits beyond L1 (core), but {} beyond L2 (memory)",
      PercentsOf(*given.beyond_l1), PercentsOf(*given.beyond_l2));
}

bool KnowsAnything(const TreeEvidence& given) {
  return given.retiring || given.core || given.bad_speculation || given.beyond_l1 ||
         given.beyond_l2 || given.waiting;
}

TreeEvidence WithoutMemory(TreeEvidence given) {
  given.beyond_l1 = given.beyond_l2 = given.l3 = given.dram = std::nullopt;
  return given;
}

}  // namespace

std::string_view NameOf(TreeNode node) { return kNodeNames.at(static_cast<std::size_t>(node)); }

std::string_view NameOf(Provenance provenance) {
  constexpr std::array<std::string_view, 4> kNames = {"read", "counted", "experiment", "bound"};
  return kNames.at(static_cast<std::size_t>(provenance));
}

TreeOrReason BuildTree(const TreeEvidence& evidence) {
  std::string reason = WhyTheyContradict(evidence);
  const TreeEvidence given = reason.empty() ? evidence : WithoutMemory(evidence);
  if (IsRead(given)) {
    TreeOrReason made = ReadTree(given);
    if (!made.tree) {
      made = ReadTree(WithoutMemory(given));
      if (made.tree) made.reason = "the experiments and the counters contradict each other";
    }
    if (made.reason.empty()) made.reason = std::move(reason);
    return made;
  }
  if (!KnowsAnything(given)) {
    return {.reason = reason.empty() ? "neither counts nor an experiment" : reason};
  }
  TopdownTree tree = TreeOf(given);
  const double lost = given.lost.value_or(1);
  if (NarrowAll(lost, tree)) return {.tree = tree, .reason = std::move(reason)};
  const TreeEvidence counted = WithoutMemory(given);
  if (KnowsAnything(counted)) {
    tree = TreeOf(counted);
    if (NarrowAll(lost, tree)) {
      return {.tree = tree, .reason = "the experiments and the counts contradict each other"};
    }
  }
  return {.reason = "the counts and the times contradict each other"};
}

std::optional<TopdownTree> SumOfTrees(std::span<const TreePart> parts) {
  double total = 0;
  for (const TreePart& part : parts) total += part.seconds;
  if (!(total > 0)) return std::nullopt;
  TopdownTree sum;
  for (std::size_t i = 0; i < kTreeNodes; ++i) {
    const auto node = static_cast<TreeNode>(i);
    std::array<double, 4> seconds = {};  // by provenance
    NodeShare share{0, 0};
    for (const TreePart& part : parts) {
      const double weight = part.seconds / total;
      if (part.tree == nullptr) share.high += weight;
      if (part.tree == nullptr || !(*part.tree)[node]) continue;
      const NodeShare& own = *(*part.tree)[node];
      share.low += weight * own.low;
      share.high += weight * own.high;
      seconds.at(static_cast<std::size_t>(own.provenance)) += part.seconds;
    }
    const auto most = std::max_element(seconds.begin(), seconds.end());
    if (!(*most > 0)) continue;  // no part has such a node
    share.provenance = static_cast<Provenance>(most - seconds.begin());
    sum[node] = share;
  }
  if (!sum[TreeNode::kRest] || !NarrowAll(1, sum)) return std::nullopt;
  return sum;
}

}  // namespace topdnn
