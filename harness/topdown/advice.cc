#include "harness/topdown/advice.h"

#include <algorithm>
#include <array>
#include <optional>
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

// A node's children come before it.
constexpr std::array kRules = {
    Rule{
        "L1_Bound", "Memory_Bound", 0.10,
        "loads that hit the first cache are slow: look for stores read back in parts, split lines, "
        "and strides that meet in one cache set; keep accumulators in registers"},
    Rule{"L2_Bound", "Memory_Bound", 0.05,
         "the tile does not fit the first cache: make the innermost block smaller"},
    Rule{"L3_Bound", "Memory_Bound", 0.05,
         "the tile does not fit the second cache: block over channels too, or give each thread a "
         "smaller share of the images"},
    Rule{
        "DRAM_Bound", "Memory_Bound", 0.10,
        "data come from memory: fuse this stage with its neighbour, reorder weights once, or use a "
        "narrower data type"},
    Rule{"Store_Bound", "Memory_Bound", 0.20,
         "stores are the limit: write each output once, after the sum over channels is complete"},
    Rule{"Divider", "Core_Bound", 0.20,
         "the divider is busy: multiply by a reciprocal computed once per channel or batch"},
    Rule{"Ports_Utilized_0", "Core_Bound", 0.20,
         "no port works because no operand is ready: keep more independent accumulators in flight, "
         "as many as latency times multiply-adds per cycle"},
    Rule{"Ports_Utilized_1", "Core_Bound", 0.20,
         "one port works at a time: instructions wait for each other, so unroll over outputs and "
         "split long sums"},
    Rule{"Ports_Utilized_3m", "Core_Bound", 0.40,
         "the ports are full: only wider or fewer instructions help, so VNNI, BF16, AMX or "
         "Winograd"},
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
         "the back end stalls: use level 2 to see whether data or execution units are the cause"},
    Rule{
        "Retiring", "", 0.70,
        "slots are well used: only fewer instructions help now, so try wider vectors, Winograd, or "
        "a narrower data type"},
};

std::optional<double> ValueOf(const TopdownResult& result, std::string_view node) {
  for (const auto* level : {&result.level1, &result.level2, &result.level3}) {
    for (const auto& [name, value] : *level) {
      if (name == node) return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<TopdownAdvice> AdviseOn(const TopdownResult& result) {
  std::vector<TopdownAdvice> advice;
  std::set<std::string_view> explained;
  for (const Rule& rule : kRules) {
    const std::optional<double> value = ValueOf(result, rule.node);
    if (!value || *value <= rule.threshold) continue;
    // Level 3 is in cycles: a node is relevant only if its parent is.
    const bool level3 = rule.parent == "Memory_Bound" || rule.parent == "Core_Bound";
    if (level3 && !(ValueOf(result, rule.parent).value_or(0) > 0.2)) continue;
    explained.insert(rule.parent);
    if (explained.count(rule.node) != 0) continue;
    advice.push_back({std::string(rule.node), *value, std::string(rule.sentence)});
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const auto& a, const auto& b) { return a.value > b.value; });
  return advice;
}

}  // namespace topdnn
