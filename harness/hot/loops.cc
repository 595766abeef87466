#include "harness/hot/loops.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace topdnn {

namespace {

using Blocks = std::vector<std::size_t>;  // in ascending order

bool Has(const Blocks& blocks, std::size_t block) {
  return std::binary_search(blocks.begin(), blocks.end(), block);
}

// The strongly connected components of a subset of the blocks (Tarjan, SIAM J. Comput. 1(2), 1972),
// without recursion: a chain of blocks may be long.
class Components {
 public:
  // `successors`: of each block of the graph, within the subset.
  Components(const Blocks& nodes, const std::vector<Blocks>& successors)
      : successors_(successors),
        index_(successors.size(), kUnknown),
        low_(successors.size(), kUnknown),
        on_stack_(successors.size(), false) {
    for (const std::size_t node : nodes) {
      if (index_[node] == kUnknown) Visit(node);
    }
  }
  const std::vector<Blocks>& found() const { return found_; }

 private:
  static constexpr std::size_t kUnknown = ~std::size_t{0};

  struct Step {
    std::size_t node, next = 0;
  };

  void Open(std::size_t node) {
    index_[node] = low_[node] = counter_++;
    stack_.push_back(node);
    on_stack_[node] = true;
    work_.push_back({node});
  }

  void Visit(std::size_t root) {
    Open(root);
    while (!work_.empty()) {
      Step& step = work_.back();
      const std::size_t node = step.node;
      const Blocks& next = successors_[node];
      if (step.next < next.size()) {
        const std::size_t to = next[step.next++];
        if (index_[to] == kUnknown) {
          Open(to);
        } else if (on_stack_[to]) {
          low_[node] = std::min(low_[node], index_[to]);
        }
        continue;
      }
      work_.pop_back();
      if (!work_.empty()) low_[work_.back().node] = std::min(low_[work_.back().node], low_[node]);
      if (low_[node] == index_[node]) Close(node);
    }
  }

  void Close(std::size_t node) {
    Blocks component;
    while (component.empty() || component.back() != node) {
      component.push_back(stack_.back());
      on_stack_[stack_.back()] = false;
      stack_.pop_back();
    }
    std::sort(component.begin(), component.end());
    found_.push_back(std::move(component));
  }

  const std::vector<Blocks>& successors_;
  std::vector<std::size_t> index_, low_;
  std::vector<bool> on_stack_;
  Blocks stack_;
  std::vector<Step> work_;
  std::size_t counter_ = 0;
  std::vector<Blocks> found_;
};

class LoopFinder {
 public:
  explicit LoopFinder(const FlowGraph& graph)
      : graph_(graph), out_(graph.blocks.size()), innermost_(graph.blocks.size(), kNoLoop) {
    for (const FlowEdge& edge : graph.edges) {
      if (edge.times > 0) out_[edge.from].push_back(&edge);
    }
  }

  std::vector<Loop> Find() {
    Blocks all(graph_.blocks.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    Split(all, std::nullopt);
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
      if (innermost_[b] == kNoLoop) continue;
      Loop& loop = loops_[innermost_[b]];
      loop.own.push_back(b);
      loop.instructions += graph_.blocks[b].times * graph_.blocks[b].count;
    }
    return std::move(loops_);
  }

 private:
  bool Cut(const FlowEdge& edge) const { return cut_.contains({edge.from, edge.to}); }

  void Split(const Blocks& nodes, std::optional<std::size_t> parent) {
    std::vector<Blocks> successors(graph_.blocks.size());
    for (const std::size_t node : nodes) {
      Blocks& own = successors[node];
      for (const FlowEdge* edge : out_[node]) {
        if (Has(nodes, edge->to) && !Cut(*edge)) own.push_back(edge->to);
      }
    }
    const Components components(nodes, successors);
    for (const Blocks& component : components.found()) {
      const std::size_t first = component.front();
      const Blocks& next = successors[first];
      if (component.size() == 1 && std::find(next.begin(), next.end(), first) == next.end()) {
        continue;
      }
      AddLoop(component, parent);
    }
  }

  void AddLoop(const Blocks& component, std::optional<std::size_t> parent) {
    std::map<std::size_t, std::uint64_t> entries;
    for (const FlowEdge& edge : graph_.edges) {
      if (Has(component, edge.to) && !Has(component, edge.from)) entries[edge.to] += edge.times;
    }
    // (a component without entries was entered by an indirect jump or a call)
    std::size_t header = component.front();
    for (const std::size_t block : component) {
      if (entries[block] > entries[header]) header = block;
    }
    Loop loop{.header = header, .blocks = component, .own = {}, .parent = parent};
    loop.iterations = graph_.blocks[header].times;
    std::uint64_t back = 0;
    for (const std::size_t block : component) {
      for (const FlowEdge* edge : out_[block]) {
        if (edge->to != header) continue;
        back += edge->times;
        cut_.insert({edge->from, edge->to});
      }
    }
    loop.entries = std::max<std::uint64_t>(1, loop.iterations - std::min(back, loop.iterations));
    const std::size_t own = loops_.size();
    for (const std::size_t block : component) innermost_[block] = own;
    loops_.push_back(std::move(loop));
    Split(component, own);
  }

  static constexpr std::size_t kNoLoop = ~std::size_t{0};

  const FlowGraph& graph_;
  std::vector<std::vector<const FlowEdge*>> out_;  // of each block
  std::set<std::pair<std::size_t, std::size_t>> cut_;
  std::vector<std::size_t> innermost_;  // loop of each block
  std::vector<Loop> loops_;
};

// Walks from the header along the most frequent edges. An inner loop is passed as if it were one
// block.
class PathWalker {
 public:
  PathWalker(const FlowGraph& graph, const std::vector<Loop>& loops, std::size_t loop)
      : graph_(graph), loops_(loops), loop_(loops[loop]), number_(loop) {}

  Blocks Walk() {
    Blocks path;
    std::optional<std::size_t> at = loop_.header;
    while (at) {
      Blocks passed = {*at};
      if (Has(loop_.own, *at)) {
        path.push_back(*at);
      } else {
        passed = InnerLoopOf(*at);
      }
      seen_.insert(passed.begin(), passed.end());
      at = NextAfter(passed);
    }
    return path;
  }

 private:
  Blocks InnerLoopOf(std::size_t block) const {
    for (const Loop& inner : loops_) {
      if (inner.parent == number_ && Has(inner.blocks, block)) return inner.blocks;
    }
    return {block};
  }

  std::optional<std::size_t> NextAfter(const Blocks& passed) const {
    std::optional<std::size_t> next;
    std::uint64_t most = 0;
    for (const std::size_t from : passed) {
      auto edge = std::lower_bound(
          graph_.edges.begin(), graph_.edges.end(), from,
          [](const FlowEdge& other, std::size_t block) { return other.from < block; });
      for (; edge != graph_.edges.end() && edge->from == from; ++edge) {
        if (edge->times <= most || Has(passed, edge->to) || seen_.contains(edge->to)) continue;
        if (!Has(loop_.blocks, edge->to)) continue;
        most = edge->times;
        next = edge->to;
      }
    }
    return next;
  }

  const FlowGraph& graph_;
  const std::vector<Loop>& loops_;
  const Loop& loop_;
  std::size_t number_;
  std::set<std::size_t> seen_;
};

}  // namespace

std::vector<Loop> FindLoops(const FlowGraph& graph) { return LoopFinder(graph).Find(); }

std::vector<std::size_t> MainPath(const FlowGraph& graph, const std::vector<Loop>& loops,
                                  std::size_t loop) {
  return PathWalker(graph, loops, loop).Walk();
}

}  // namespace topdnn
