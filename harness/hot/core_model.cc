#include "harness/hot/core_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "harness/hot/instruction_form.h"

namespace topdnn {

namespace {

// The cost of a form that was not measured: a guess by what it is.
FormCost GuessedCost(const Instruction& i, const FormCosts& costs) {
  FormCost cost;
  const double one = 1 / costs.dispatch_width;
  cost.units[kDispatchUnit] = one;
  const std::string_view name = ZydisMnemonicGetString(i.raw.mnemonic);
  const bool locks = (i.raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
                     (i.raw.mnemonic == ZYDIS_MNEMONIC_XCHG && i.writes);
  if (i.raw.mnemonic == ZYDIS_MNEMONIC_DIV || i.raw.mnemonic == ZYDIS_MNEMONIC_IDIV) {
    cost.alone = 12;
  } else if (locks) {
    cost.alone = 18;
    cost.units[kDispatchUnit] = 6 * one;
  } else if (i.rep) {
    cost.alone = 30;
    cost.units[kDispatchUnit] = 18 * one;
  } else if (name.find("gather") != std::string_view::npos) {
    cost.alone = 24;
    cost.units[kDispatchUnit] = 80 * one;
  } else if (i.flow == Flow::kCall || i.flow == Flow::kIndirectCall) {
    cost.units[kDispatchUnit] = 2 * one;
  }
  if (i.reads) cost.units[kLoadUnit] += costs.load;
  if (i.writes) cost.units[kStoreUnit] += 1;
  return cost;
}

// A store past the caches costs the core what an ordinary one does.
std::string OrdinaryForm(std::string form) {
  for (const std::string_view past : {"movntps", "movntpd", "movntdq"}) {
    const auto at = form.find(past);
    if (at != std::string::npos) form.replace(at, past.size(), "movups");
  }
  return form;
}

bool FusesWithBranch(const Instruction& i) {
  switch (i.raw.mnemonic) {
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST:
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
      return true;
    default:
      return false;
  }
}

// Lines of code that an iteration fetches: one a cycle.
double LinesOf(const std::vector<PathInstruction>& path) {
  double lines = 0;
  std::uint64_t end = 0;
  constexpr std::uint64_t kNoLine = ~std::uint64_t{0};
  std::uint64_t last = kNoLine;
  for (const PathInstruction& one : path) {
    const Instruction& i = one.instruction->code;
    if (i.address != end) last = kNoLine;
    for (auto line = static_cast<std::uint64_t>(i.address / 64); line <= (i.end() - 1) / 64;
         ++line) {
      if (last != line) lines += 1;
      last = line;
    }
    end = i.end();
  }
  return lines;
}

// Whether this core may split the operation because of its address: Intel's do, if it has an index
// and does more than to load (Intel 248966, "Micro-fusion").
bool MayBeSplit(const Instruction& i) {
#if defined(__x86_64__)
  if (__builtin_cpu_is("amd")) return false;
#endif
  const bool only_loads = i.reads && !i.writes &&
                          (i.raw.meta.category == ZYDIS_CATEGORY_DATAXFER ||
                           i.raw.meta.category == ZYDIS_CATEGORY_BROADCAST);
  if (only_loads) return false;
  return std::any_of(i.operands, i.operands + i.raw.operand_count_visible, [](const auto& o) {
    return o.type == ZYDIS_OPERAND_TYPE_MEMORY && o.mem.type == ZYDIS_MEMOP_TYPE_MEM &&
           o.mem.index != ZYDIS_REGISTER_NONE;
  });
}

// Of a form that was not measured. Divisions of 32 bits take 2 slots on Zen 2 and later and 4 to 10
// on Intel's cores, of 64 bits up to 59, and a pause up to 5 (Agner Fog, instruction tables).
double MostSlotsAssumed(const ExecutedInstruction& executed) {
  constexpr double kMost = 2, kShortDivision = 10, kDivision = 60, kMicrocoded = 100;
  const Instruction& i = executed.code;
  const ZydisMnemonic name = i.raw.mnemonic;
  if (name == ZYDIS_MNEMONIC_PAUSE) return kShortDivision;
  if (name == ZYDIS_MNEMONIC_DIV || name == ZYDIS_MNEMONIC_IDIV) {
    return i.raw.operand_width <= 32 ? kShortDivision : kDivision;
  }
  return kMost + kMicrocoded * static_cast<double>(executed.counts.slow_instructions);
}

double MostSlotsOf(const ExecutedInstruction& executed, const FormCosts& costs) {
  const Instruction& i = executed.code;
  if (i.flow == Flow::kConditional || i.flow == Flow::kJump) return 1;
  const auto found = costs.forms.find(OrdinaryForm(FormOf(i)));
  if (found == costs.forms.end()) return MostSlotsAssumed(executed);
  // A number of slots is whole; a measured one scatters by less than this.
  constexpr double kScatter = 0.35;
  const double slots = found->second.units[kDispatchUnit] * costs.dispatch_width;
  return std::max(1.0, std::ceil(slots - kScatter)) + (MayBeSplit(i) ? 1 : 0);
}

// Sums the cycles of a path by what takes them.
class CycleSums {
 public:
  explicit CycleSums(const FormCosts& costs) : costs_(costs) {}

  void Add(const PathInstruction& one, const Instruction* previous) {
    const Instruction& i = one.instruction->code;
    const std::string form = OrdinaryForm(FormOf(i));
    const auto found = costs_.forms.find(form);
    const FormCost cost = found != costs_.forms.end() ? found->second : GuessedCost(i, costs_);
    for (int u = 0; u < kCoreUnits; ++u) units_[u] += one.weight * cost.units[u];
    if (i.flow == Flow::kConditional && previous != nullptr && FusesWithBranch(*previous)) {
      units_[kDispatchUnit] -= one.weight / costs_.dispatch_width;
    }
    if (cost.alone > 1.01) alone_[form] += one.weight * cost.alone;
    if (i.flow != Flow::kNext) branches_ += one.weight;
    if (i.flow == Flow::kConditional) {
      const double times = std::max<double>(1, static_cast<double>(one.instruction->times));
      taken_ += one.weight * static_cast<double>(one.instruction->taken) / times;
    } else if (i.flow != Flow::kNext) {
      taken_ += one.weight;
    }
  }

  // By name, with the most cycles of the units that share it.
  std::map<std::string, double> ByName() const {
    std::map<std::string, double> by_name;
    for (int u = 0; u < kCoreUnits; ++u) {
      double& cycles = by_name[std::string(NameOf(static_cast<CoreUnit>(u)))];
      cycles = std::max(cycles, units_[u]);
    }
    by_name["taken branches"] = std::max(taken_, branches_ / 2);
    // A form that the units' cycles do not explain: a division, a store of several operations.
    for (const auto& [form, cycles] : alone_) {
      double& own = by_name[form.substr(0, form.find(' '))];
      own = std::max(own, cycles);
    }
    return by_name;
  }

 private:
  const FormCosts& costs_;
  std::array<double, kCoreUnits> units_ = {};
  std::map<std::string, double> alone_;
  double branches_ = 0, taken_ = 0;
};

std::string ChainName(const DependencyChain& chain) {
  if (chain.forwarded) return "store forwarding";
  return fmt::format("chain of {:.0f}", std::max(1.0, std::round(chain.instructions)));
}

}  // namespace

double MostSlots(const ExecutedCode& code, const FormCosts& costs) {
  double slots = 0;
  for (const ExecutedInstruction& one : code.instructions) {
    slots += static_cast<double>(one.times) * MostSlotsOf(one, costs);
  }
  return slots;
}

CoreCycles ModelPath(const std::vector<PathInstruction>& path, const FormCosts& costs,
                     bool chains) {
  constexpr std::size_t kMostInChain = 4000;
  CycleSums sums(costs);
  const Instruction* previous = nullptr;
  for (const PathInstruction& one : path) {
    sums.Add(one, previous);
    previous = &one.instruction->code;
  }
  CoreCycles model;
  std::map<std::string, double> by_name = sums.ByName();
  by_name["code lines"] = LinesOf(path);
  if (chains && path.size() < kMostInChain) {
    model.chain = LongestChain(path, costs);
    by_name[ChainName(model.chain)] = model.chain.cycles;
  }
  for (const auto& [name, cycles] : by_name) {
    if (cycles > 0) model.units.emplace_back(name, cycles);
  }
  std::stable_sort(model.units.begin(), model.units.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (!model.units.empty()) {
    model.binds = model.units.front().first;
    model.cycles = model.units.front().second;
  }
  return model;
}

}  // namespace topdnn
