#include "harness/hot/describe_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/hot/core_model.h"
#include "harness/hot/instruction_form.h"
#include "harness/hot/listing.h"

namespace topdnn {

namespace {

// Smaller shares of the instructions do not matter: of blocks to the model, of loops to a reader.
constexpr double kLeastBlock = 0.0002;
constexpr double kLeastLoop = 0.005;
constexpr double kLeastModelled = 2e-5;  // less is taken as dispatched only

double ShareOf(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t InstructionsOf(const BasicBlock& block) { return block.times * block.count; }

void Append(const ExecutedCode& code, const BasicBlock& block, double weight,
            std::vector<PathInstruction>& path) {
  for (std::size_t k = 0; k < block.count; ++k) {
    path.push_back({&code.instructions[block.first + k], weight});
  }
}

// A loop with what an iteration executes.
struct LoopPath {
  const Loop* loop = nullptr;
  std::vector<std::size_t> blocks;  // those of most iterations
  std::vector<PathInstruction> path;
};

std::vector<LoopPath> PathsOf(const ExecutedCode& code, const std::vector<Loop>& loops) {
  std::vector<LoopPath> paths;
  for (std::size_t l = 0; l < loops.size(); ++l) {
    const Loop& loop = loops[l];
    if (ShareOf(loop.instructions, code.executed) < kLeastBlock) continue;
    LoopPath& own = paths.emplace_back();
    own.loop = &loop;
    for (const std::size_t b : MainPath(code.graph, loops, l)) {
      const BasicBlock& block = code.graph.blocks[b];
      const double weight = ShareOf(block.times, loop.iterations);
      if (weight < 0.5) continue;
      own.blocks.push_back(b);
      Append(code, block, weight, own.path);
    }
  }
  std::stable_sort(paths.begin(), paths.end(), [](const LoopPath& a, const LoopPath& b) {
    return a.loop->instructions > b.loop->instructions;
  });
  return paths;
}

// Executed in the loop's own blocks, on all of its paths.
double FlopsIn(const ExecutedCode& code, const Loop& loop) {
  double flops = 0;
  for (const std::size_t b : loop.own) {
    const BasicBlock& block = code.graph.blocks[b];
    for (std::size_t k = 0; k < block.count; ++k) {
      const ExecutedInstruction& one = code.instructions[block.first + k];
      flops += static_cast<double>(one.times) * one.MeanFlops();
    }
  }
  return flops;
}

HotLoop Described(const ExecutedCode& code, const LoopPath& own, CodePlaces& places) {
  HotLoop loop;
  const BasicBlock& header = code.graph.blocks[own.loop->header];
  loop.place = places.Of(code.instructions[header.first].code.address);
  loop.instruction_share = ShareOf(own.loop->instructions, code.executed);
  loop.iterations = own.loop->iterations;
  loop.entries = own.loop->entries;
  for (const auto& [instruction, weight] : own.path) {
    const Tally& counts = instruction->counts;
    loop.instructions += weight;
    loop.flops += weight * instruction->MeanFlops();
    loop.loads += weight * static_cast<double>(counts.loads);
    loop.stores += weight * static_cast<double>(counts.stores);
    loop.load_bytes += weight * static_cast<double>(counts.load_bytes);
    loop.fmas += IsFma(instruction->code) ? weight : 0;
    loop.spills += IsSpill(instruction->code) ? weight : 0;
  }
  if (code.flops > 0) loop.flop_share = FlopsIn(code, *own.loop) / static_cast<double>(code.flops);
  return loop;
}

// Sums the model's cycles of the whole region by what takes them.
class RegionCycles {
 public:
  void Add(const CoreCycles& model, double times) {
    cycles_ += model.cycles * times;
    for (const auto& [name, cycles] : model.units) by_name_[name] += cycles * times;
  }
  void WriteTo(HotLoops& hot) const {
    hot.cycles = cycles_;
    hot.units.assign(by_name_.begin(), by_name_.end());
    std::stable_sort(hot.units.begin(), hot.units.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
  }

 private:
  double cycles_ = 0;
  std::map<std::string, double> by_name_;
};

void CountBlocks(const ExecutedCode& code, HotLoops& hot) {
  std::vector<std::uint64_t> executed;
  executed.reserve(code.graph.blocks.size());
  for (const BasicBlock& block : code.graph.blocks) executed.push_back(InstructionsOf(block));
  std::sort(executed.rbegin(), executed.rend());
  hot.blocks = executed.size();
  constexpr double kMost = 0.95;
  std::uint64_t sum = 0;
  for (const std::uint64_t one : executed) {
    if (ShareOf(sum, code.executed) >= kMost) break;
    sum += one;
    ++hot.blocks_of_95_percent;
  }
}

double CyclesOf(const std::vector<std::pair<std::string, double>>& units, const std::string& name) {
  const auto found = std::find_if(units.begin(), units.end(),
                                  [&](const auto& unit) { return unit.first == name; });
  return found == units.end() ? 0 : found->second;
}

// "FMA", or "FMA, loads" if the model's error does not tell which of two takes the most cycles.
std::string BindingName(const std::vector<std::pair<std::string, double>>& units) {
  const std::string& first = units.front().first;
  if (units.size() < 2 || units[1].second < (1 - kModelAgrees) * units[0].second) return first;
  const std::string& second = units[1].first;
  return second == NameOf(kFmaUnit) ? second + ", " + first : first + ", " + second;
}

// The loop with the most of the model's cycles; null: none.
const HotLoop* CostliestOf(const HotLoops& hot) {
  const auto cycles = [](const HotLoop& loop) {
    return loop.cycles.value_or(0) * static_cast<double>(loop.iterations);
  };
  const auto costliest =
      std::max_element(hot.loops.begin(), hot.loops.end(),
                       [&](const HotLoop& a, const HotLoop& b) { return cycles(a) < cycles(b); });
  return costliest == hot.loops.end() || !costliest->cycles ? nullptr : &*costliest;
}

}  // namespace

void AddFormExamples(const ExecutedCode& code, FormExamples& examples) {
  for (const BasicBlock& block : code.graph.blocks) {
    if (ShareOf(InstructionsOf(block), code.executed) < kLeastBlock) continue;
    for (std::size_t k = 0; k < block.count; ++k) {
      const Instruction& i = code.instructions[block.first + k].code;
      examples.emplace(FormOf(i), i);
    }
  }
}

HotLoops DescribeLoops(const ExecutedCode& code, const FormCosts& costs,
                       const std::string& why_no_costs, CodePlaces& places,
                       const LoopDetail& detail) {
  HotLoops hot;
  hot.instructions = code.executed;
  hot.flops = code.flops;
  CountBlocks(code, hot);
  const std::vector<Loop> loops = FindLoops(code.graph);
  const bool modelled = costs.dispatch_width > 0;
  if (modelled) {
    hot.most_slots = MostSlots(code, costs);
    hot.dispatch_width = costs.dispatch_width;
  }
  RegionCycles region;
  std::set<std::size_t> done;
  for (const LoopPath& own : PathsOf(code, loops)) {
    done.insert(own.blocks.begin(), own.blocks.end());
    HotLoop loop;
    const bool shown = ShareOf(own.loop->instructions, code.executed) >= kLeastLoop;
    if (shown) loop = Described(code, own, places);
    if (modelled) {
      const CoreCycles model = ModelPath(own.path, costs);
      region.Add(model, static_cast<double>(own.loop->iterations));
      loop.cycles = model.cycles;
      loop.units = model.units;
      loop.chain_cycles = model.chain.cycles;
      loop.chain_instructions = model.chain.instructions;
      loop.chain_fmas = model.chain.fmas;
    }
    if (!shown) continue;
    if (hot.loops.size() < detail.loops) loop.listing = ListingOf(own.path, detail.lines);
    hot.loops.push_back(std::move(loop));
  }
  if (!modelled) {
    hot.binding_reason = why_no_costs;
    return hot;
  }
  for (std::size_t b = 0; b < code.graph.blocks.size(); ++b) {
    const BasicBlock& block = code.graph.blocks[b];
    const auto times = static_cast<double>(block.times);
    if (done.contains(b)) continue;
    if (ShareOf(InstructionsOf(block), code.executed) < kLeastModelled) {
      const double cycles = static_cast<double>(block.count) / costs.dispatch_width;
      region.Add({.cycles = cycles,
                  .binds = {},
                  .units = {{std::string(NameOf(kDispatchUnit)), cycles}},
                  .chain = {}},
                 times);
      continue;
    }
    std::vector<PathInstruction> path;
    Append(code, block, 1, path);
    region.Add(ModelPath(path, costs, /*chains=*/false), times);
  }
  region.WriteTo(hot);
  return hot;
}

void JudgeBindings(const MeasuredCycles& measured, HotLoops& hot) {
  if (!hot.cycles) return;
  if (!(measured.cycles > 0)) {
    hot.binding_reason = "no undisturbed time or clock to compare the core model with";
    return;
  }
  const double ratio = *hot.cycles / measured.cycles;
  const HotLoop* costliest = CostliestOf(hot);
  if (std::abs(ratio - 1) > kModelAgrees || costliest == nullptr) {
    hot.binding_reason = fmt::format(
        "latency{} or front end: the core model's cycles are {:.0f} % of the measured ones",
        measured.data_in_l1 ? "" : ", memory", 100 * ratio);
    for (HotLoop& loop : hot.loops) loop.binding_reason = hot.binding_reason;
    return;
  }
  const double share = std::min(1.0, ratio);
  const double busy = CyclesOf(hot.units, costliest->units.front().first);
  hot.binding = HotBinding{BindingName(costliest->units), std::min(1.0, busy / measured.cycles)};
  for (HotLoop& loop : hot.loops) {
    if (!loop.units.empty()) loop.binding = HotBinding{BindingName(loop.units), share};
  }
}

}  // namespace topdnn
