#include "harness/bounds/bound_by.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

namespace topdnn {

namespace {

// A unit that is busy for this share of the time is what binds: nothing else takes as much.
constexpr double kMostOfTheTime = 0.5;

struct Part {
  std::string_view name;
  double low = 0, high = 0;

  double middle() const { return (low + high) / 2; }
};

Part PartOf(const TopdownTree& tree, std::string_view name, TreeNode node) {
  const std::optional<NodeShare>& share = tree[node];
  return share ? Part{name, share->low, share->high} : Part{name};
}

Part Computing(const TopdownTree& tree) {
  Part part{.name = "computing"};
  // What the other nodes leave, where that is narrower than the sum of the two.
  double others_low = 0;
  double others_high = 0;
  for (const TreeNode node : kLevelOne) {
    const std::optional<NodeShare>& share = tree[node];
    if (!share) continue;
    const bool own = node == TreeNode::kRetiring || node == TreeNode::kCoreBound;
    (own ? part.low : others_low) += share->low;
    (own ? part.high : others_high) += share->high;
  }
  part.low = std::max(part.low, 1 - others_high);
  part.high = std::min(part.high, 1 - others_low);
  return part;
}

// What these nodes leave.
Part AllBut(std::initializer_list<TreeNode> nodes, std::string_view name, const TopdownTree& tree) {
  Part part{.name = name, .low = 1, .high = 1};
  for (const TreeNode node : nodes) {
    const Part other = PartOf(tree, "", node);
    part.low -= other.high;
    part.high -= other.low;
  }
  return part;
}

bool NamesAResource(std::string_view what) {
  return what != "dispatch" && what != "store forwarding" && what != "code lines" &&
         !what.starts_with("chain") && !what.starts_with("latency");
}

BoundBy NameComputing(const BoundByEvidence& given, const Part& computing) {
  const double peak = given.peak_fraction.value_or(0);
  if (peak >= kMostOfTheTime) return {"FMA", peak};
  if (given.binding) return {given.binding->what, given.binding->share};
  if (given.busy >= kMostOfTheTime) {
    return {given.busiest == "floating-point work" ? "FP units" : given.busiest, given.busy};
  }
  if (given.tree != nullptr) {
    const Part retiring = PartOf(*given.tree, "instructions", TreeNode::kRetiring);
    const Part core = PartOf(*given.tree, "core", TreeNode::kCoreBound);
    if (retiring.low > core.high) return {"instructions", retiring.middle()};
    if (core.low > retiring.high) return {"core", core.middle()};
  }
  return {"computing", computing.middle()};
}

BoundBy NameMemory(const TopdownTree& tree, const Part& memory) {
  const std::array<Part, 3> levels = {PartOf(tree, "DRAM", TreeNode::kDramBound),
                                      PartOf(tree, "L3", TreeNode::kL3Bound),
                                      PartOf(tree, "L2", TreeNode::kL1L2Bound)};
  for (const Part& level : levels) {
    const bool largest = std::all_of(levels.begin(), levels.end(), [&](const Part& other) {
      return other.name == level.name || level.low >= other.middle();
    });
    if (largest && level.low > 0) return {std::string(level.name), level.middle()};
  }
  return {"memory", memory.middle()};
}

}  // namespace

std::string TextOf(const BoundBy& bound_by) {
  if (!NamesAResource(bound_by.what)) return bound_by.what;
  return fmt::format("{} {:.0f} %", bound_by.what, bound_by.share * 100);
}

BoundByOrReason ChooseBoundBy(const BoundByEvidence& evidence) {
  const bool busy = evidence.peak_fraction.value_or(0) >= kMostOfTheTime ||
                    (evidence.busy >= kMostOfTheTime && !evidence.busiest.empty());
  if (evidence.tree == nullptr) {
    if (busy) return {.bound_by = NameComputing(evidence, {})};
    return {.reason = "there is no Top-Down tree"};
  }
  const TopdownTree& tree = *evidence.tree;
  const std::array<Part, 5> parts = {Computing(tree),
                                     PartOf(tree, "memory", TreeNode::kMemoryBound),
                                     PartOf(tree, "waits for threads", TreeNode::kWaiting),
                                     PartOf(tree, "mispredictions", TreeNode::kBadSpeculation),
                                     PartOf(tree, "front end", TreeNode::kRest)};
  const auto surely = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
    return std::all_of(parts.begin(), parts.end(), [&](const Part& other) {
      return other.name == part.name || part.low >= other.middle();
    });
  });
  const Part& most = surely == parts.end() ? parts.front() : *surely;
  if (most.name == "memory") return {.bound_by = NameMemory(tree, most)};
  if (most.name != "computing") return {.bound_by = BoundBy{std::string(most.name), most.middle()}};
  // Than memory, waiting threads and mispredictions, of which the loop's core model knows nothing.
  const auto is_more = [&parts](double share) {
    return std::all_of(parts.begin() + 1, parts.begin() + 4,
                       [share](const Part& other) { return share >= other.middle(); });
  };
  const bool named = busy || (evidence.binding && is_more(most.middle()));
  if (surely != parts.end() || named) return {.bound_by = NameComputing(evidence, most)};
  const Part code = AllBut({TreeNode::kMemoryBound, TreeNode::kWaiting, TreeNode::kBadSpeculation},
                           "core or front end", tree);
  if (is_more(code.low)) return {.bound_by = BoundBy{std::string(code.name), code.middle()}};
  // Without the core experiment, waits within L1 and L2 (for stores, say) look like computing.
  const Part near = AllBut({TreeNode::kL3Bound, TreeNode::kDramBound, TreeNode::kWaiting,
                            TreeNode::kBadSpeculation, TreeNode::kRest},
                           "core or L2", tree);
  const double far = PartOf(tree, "", TreeNode::kL3Bound).middle() +
                     PartOf(tree, "", TreeNode::kDramBound).middle();
  const bool is_most =
      near.low >= far && std::all_of(parts.begin() + 2, parts.end(), [&near](const Part& other) {
        return near.low >= other.middle();
      });
  if (tree[TreeNode::kL3Bound] && tree[TreeNode::kDramBound] && is_most) {
    return {.bound_by = BoundBy{std::string(near.name), near.middle()}};
  }
  const Part& memory = parts[1];
  return {.reason = fmt::format(
              "computing takes {:.0f} to {:.0f} % of the time, memory {:.0f} to {:.0f} %",
              most.low * 100, most.high * 100, memory.low * 100, memory.high * 100)};
}

}  // namespace topdnn
