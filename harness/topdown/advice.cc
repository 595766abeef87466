#include "harness/topdown/advice.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace topdnn {

namespace {

struct Rule {
  std::string_view node;
  std::string_view parent;  // empty: level 1
  double threshold;
  std::string_view sentence;
};

constexpr std::array kRules = {
    Rule{
        "Fetch_Latency", "Frontend_Bound", 0.10,
        "instructions arrive late: unroll less, so that the kernel fits the instruction cache, and "
        "raise the work of each call above the primitive's dispatch cost"},
    Rule{"Fetch_Bandwidth", "Frontend_Bound", 0.20,
         "decoding is the limit: use wider vectors, so that fewer instructions do the work"},
    Rule{"Branch_Mispredicts", "Bad_Speculation", 0.10,
         "branches are mispredicted: make max pooling, ReLU and border handling branch-free with "
         "masks, and pad instead of testing"},
    Rule{"Machine_Clears", "Bad_Speculation", 0.10,
         "the pipeline is cleared: look for denormal weights or activations, and for threads that "
         "write neighbouring outputs in one cache line"},
    Rule{"Memory_Bound", "Backend_Bound", 0.20,
         "data arrive late: block for the caches, fuse element-wise stages into the convolution "
         "before them, or use a narrower data type"},
    Rule{"Core_Bound", "Backend_Bound", 0.20,
         "the execution units are the limit: keep more accumulators in flight, avoid divisions and "
         "exponentials in the inner loop, or use VNNI, BF16 or AMX"},
    Rule{"Resource_Bound", "Backend_Bound", 0.20,
         "buffers are full, mostly of loads that wait: block for the caches or use fewer, wider "
         "accesses"},
    Rule{"Heavy_Operations", "Retiring", 0.10,
         "many instructions are several uops: avoid gathers and masked or misaligned stores; a "
         "blocked layout makes loads contiguous"},
    Rule{"Frontend_Bound", "", 0.20,
         "the front end starves the core: small stages spend their time in calls and cold code; "
         "raise the batch or fuse stages"},
    Rule{"Bad_Speculation", "", 0.15,
         "work is thrown away: replace data-dependent branches by masks"},
    Rule{"Backend_Bound", "", 0.30,
         "the back end stalls: find out whether for data or for execution units (level 2)"},
    Rule{
        "Retiring", "", 0.70,
        "slots are well used: only fewer instructions help now, so try wider vectors, Winograd, or "
        "a narrower data type"},
};

}  // namespace

std::vector<TopdownAdvice> AdviseOn(const TopdownResult& result) {
  std::vector<TopdownAdvice> advice;
  std::set<std::string_view> explained;
  for (const Rule& rule : kRules) {
    const auto& values = rule.parent.empty() ? result.level1 : result.level2;
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const auto& node) { return node.first == rule.node; });
    if (found == values.end() || !found->second || *found->second <= rule.threshold) continue;
    explained.insert(rule.parent);
    if (rule.parent.empty() && explained.count(rule.node) != 0) continue;
    advice.push_back({std::string(rule.node), *found->second, std::string(rule.sentence)});
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const auto& a, const auto& b) { return a.value > b.value; });
  return advice;
}

}  // namespace topdnn
