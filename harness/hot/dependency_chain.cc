// The longest chain of dependent instructions of a loop, by executing its data flow for some
// iterations.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "harness/hot/core_model.h"
#include "harness/hot/instruction_form.h"

namespace topdnn {

namespace {

constexpr std::size_t kLongPath = 1500;       // instructions; fewer iterations suffice
constexpr double kVectorLoad = 7, kLoad = 4;  // cycles of a load from L1
// Cycles from a store's data to the load of the same bytes, measured on Zen 4; and if several
// stores hold the bytes, so that the load waits until they reach L1.
constexpr double kForward512 = 12, kForward256 = 10, kForward128 = 9, kForwardGeneral = 1;
constexpr double kForwardFails = 24;

// When a value is ready, and what the chain that leads to it consists of.
struct Value {
  double ready = 0;
  double instructions = 0, fmas = 0, forwards = 0;

  void TakeLater(const Value& other) {
    if (other.ready > ready) *this = other;
  }
};

// A memory operand whose address may stay the same in all iterations.
struct Access {
  bool reads = false, writes = false;
  std::vector<int> address_registers;
  std::tuple<int, int, int> base;  // registers and scale
  std::int64_t displacement = 0;
  std::int64_t bytes = 0;
  bool vector = false;
};

struct Step {
  std::vector<int> reads, writes;
  std::vector<Access> accesses;
  double latency = 0;
  bool fma = false, vector = false;
};

bool Reads(const ZydisDecodedOperand& o) {
  return (o.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}
bool Writes(const ZydisDecodedOperand& o) {
  return (o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

constexpr int kStackPointer = 4;

bool Follows(int number) { return number != kNothing && number != kStackPointer; }

double LatencyOf(const Instruction& i, const FormCosts& costs) {
  if (IsPlainMove(i) || IsZeroIdiom(i)) return 0;
  const auto found = costs.forms.find(FormOf(i));
  if (found != costs.forms.end() && found->second.latency) return *found->second.latency;
  std::optional<bool> to_vector, from_vector;
  for (const ZydisDecodedOperand* o : OperandsOf(i)) {
    if (o->type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const bool vector = !(FollowedRegister(o->reg.value) < 16);
    if (Writes(*o) && !to_vector) to_vector = vector;
    if (Reads(*o) && !from_vector) from_vector = vector;
  }
  constexpr double kAcross = 4;  // between register files, and vector operations as a rule
  if (!to_vector) return 1;
  if (!from_vector) return 0;  // only the load's latency
  return !*to_vector && !*from_vector ? 1 : kAcross;
}

// Turns instructions into steps, and follows the stack pointer through pushes and pops.
class StepReader {
 public:
  explicit StepReader(const FormCosts& costs) : costs_(costs) {}

  std::optional<Step> Read(const Instruction& i) {
    switch (i.raw.meta.category) {
      case ZYDIS_CATEGORY_COND_BR:
      case ZYDIS_CATEGORY_UNCOND_BR:
      case ZYDIS_CATEGORY_CALL:
      case ZYDIS_CATEGORY_RET:
      case ZYDIS_CATEGORY_NOP:
      case ZYDIS_CATEGORY_PREFETCH:
        return std::nullopt;
      default:
        break;
    }
    Step step;
    if (i.raw.mnemonic == ZYDIS_MNEMONIC_PUSH) stack_ -= 8;
    for (int k = 0; k < i.raw.operand_count; ++k) AddOperand(i, i.operands[k], step);
    if (i.raw.mnemonic == ZYDIS_MNEMONIC_POP) stack_ += 8;
    MoveStack(i);
    if (i.raw.cpu_flags != nullptr) {
      const auto& flags = *i.raw.cpu_flags;
      if (flags.tested != 0) step.reads.push_back(kFollowedFlags);
      if ((flags.modified | flags.set_0 | flags.set_1 | flags.undefined) != 0) {
        step.writes.push_back(kFollowedFlags);
      }
    }
    const auto vector = [](int r) { return IsFollowedVector(r); };
    step.vector = std::any_of(step.reads.begin(), step.reads.end(), vector) ||
                  std::any_of(step.writes.begin(), step.writes.end(), vector);
    step.latency = LatencyOf(i, costs_);
    step.fma = IsFma(i);
    return step;
  }

  // Whether addresses on the stack are known.
  bool stack_known() const { return known_ && stack_ == 0; }

 private:
  void AddOperand(const Instruction& i, const ZydisDecodedOperand& o, Step& step) const {
    if (o.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      // (as a mask, k0 means none)
      if (o.encoding == ZYDIS_OPERAND_ENCODING_MASK && o.reg.value == ZYDIS_REGISTER_K0) return;
      const int number = FollowedRegister(o.reg.value);
      if (!Follows(number)) return;
      if (Reads(o) && !IsZeroIdiom(i)) step.reads.push_back(number);
      if (Writes(o)) step.writes.push_back(number);
    }
    if (o.type != ZYDIS_OPERAND_TYPE_MEMORY) return;
    std::vector<int> registers;
    for (const ZydisRegister name : {o.mem.base, o.mem.index}) {
      const int number = FollowedRegister(name);
      if (Follows(number)) registers.push_back(number);
    }
    if (o.mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
      step.reads.insert(step.reads.end(), registers.begin(), registers.end());
      return;
    }
    if (o.mem.type != ZYDIS_MEMOP_TYPE_MEM && o.mem.type != ZYDIS_MEMOP_TYPE_VSIB) return;
    const bool implicit = o.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;  // push, pop
    std::int64_t displacement = implicit ? 0 : o.mem.disp.value;
    if (o.mem.base == ZYDIS_REGISTER_RSP) displacement += stack_;
    step.accesses.push_back({Reads(o),
                             Writes(o),
                             registers,
                             {o.mem.base, o.mem.index, o.mem.scale},
                             displacement,
                             std::max<std::int64_t>(1, o.size / 8),
                             false});
  }

  void MoveStack(const Instruction& i) {
    const auto& to = i.operands[0];
    const bool moves = to.type == ZYDIS_OPERAND_TYPE_REGISTER &&
                       to.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT && Writes(to) &&
                       to.reg.value == ZYDIS_REGISTER_RSP;
    if (!moves) return;
    const auto& from = i.operands[1];
    const bool immediate = from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if (i.raw.mnemonic == ZYDIS_MNEMONIC_ADD && immediate) {
      stack_ += from.imm.value.s;
    } else if (i.raw.mnemonic == ZYDIS_MNEMONIC_SUB && immediate) {
      stack_ -= from.imm.value.s;
    } else if (i.raw.mnemonic == ZYDIS_MNEMONIC_LEA && from.mem.base == ZYDIS_REGISTER_RSP &&
               from.mem.index == ZYDIS_REGISTER_NONE) {
      stack_ += from.mem.disp.value;
    } else {
      known_ = false;
    }
  }

  const FormCosts& costs_;
  std::int64_t stack_ = 0;
  bool known_ = true;
};

double ForwardLatency(const Access& store, bool vector) {
  if (store.bytes >= 64) return kForward512;
  if (store.bytes >= 32) return kForward256;
  return vector ? kForward128 : kForwardGeneral;
}

// Executes the data flow, iteration after iteration.
class DataFlow {
 public:
  DataFlow(std::vector<Step> steps, bool stack_known)
      : steps_(std::move(steps)), stack_known_(stack_known) {
    for (const Step& step : steps_) {
      for (const int r : step.writes) written_[static_cast<std::size_t>(r)] = true;
    }
  }

  // Returns the value that is ready last.
  Value Iterate() {
    for (const Step& step : steps_) Execute(step);
    Value last;
    for (const Value& value : registers_) last.TakeLater(value);
    return last;
  }

 private:
  struct Stored {
    Value data;
    double forward = 0;
    std::size_t number = 0;  // of the store
  };

  bool IsFixed(const Access& access) const {
    if (std::get<0>(access.base) == ZYDIS_REGISTER_RSP && !stack_known_) return false;
    return std::none_of(access.address_registers.begin(), access.address_registers.end(),
                        [&](int r) { return written_[static_cast<std::size_t>(r)]; });
  }

  Value Load(const Access& access, const Step& step) const {
    Value value;
    for (const int r : access.address_registers) {
      value.TakeLater(registers_[static_cast<std::size_t>(r)]);
    }
    value.ready += step.vector ? kVectorLoad : kLoad;
    const auto stored = stored_.find(access.base);
    if (!IsFixed(access) || stored == stored_.end()) return value;
    const auto& bytes = stored->second;
    const auto first = bytes.find(access.displacement);
    const auto last = bytes.find(access.displacement + access.bytes - 1);
    const bool whole =
        first != bytes.end() && last != bytes.end() && first->second.number == last->second.number;
    std::optional<Stored> from;
    for (std::int64_t b = 0; b < access.bytes; ++b) {
      const auto byte = bytes.find(access.displacement + b);
      if (byte == bytes.end()) continue;
      if (!from || byte->second.data.ready > from->data.ready) from = byte->second;
      if (whole) break;
    }
    if (!from) return value;
    Value forwarded = from->data;
    forwarded.ready += whole ? from->forward : kForwardFails;
    forwarded.forwards += 1;
    value.TakeLater(forwarded);
    return value;
  }

  void Execute(const Step& step) {
    Value value;
    for (const int r : step.reads) value.TakeLater(registers_[static_cast<std::size_t>(r)]);
    for (const Access& access : step.accesses) {
      if (access.reads) value.TakeLater(Load(access, step));
    }
    const Value operands = value;
    value.ready += step.latency;
    value.instructions += step.latency > 0 ? 1 : 0;
    value.fmas += step.fma ? 1 : 0;
    for (const int r : step.writes) registers_[static_cast<std::size_t>(r)] = value;
    for (const Access& access : step.accesses) {
      if (!access.writes || !IsFixed(access)) continue;
      const Stored stored = {operands, ForwardLatency(access, step.vector), ++stores_};
      for (std::int64_t b = 0; b < access.bytes; ++b) {
        stored_[access.base][access.displacement + b] = stored;
      }
    }
  }

  std::vector<Step> steps_;
  bool stack_known_;
  std::array<bool, kFollowed> written_ = {};
  std::array<Value, kFollowed> registers_ = {};
  std::map<std::tuple<int, int, int>, std::map<std::int64_t, Stored>> stored_;
  std::size_t stores_ = 0;
};

}  // namespace

bool IsFma(const Instruction& i) {
  const std::string_view name = ZydisMnemonicGetString(i.raw.mnemonic);
  return name.starts_with("vfmadd") || name.starts_with("vfmsub") || name.starts_with("vfnm");
}

DependencyChain LongestChain(const std::vector<PathInstruction>& path, const FormCosts& costs) {
  StepReader reader(costs);
  std::vector<Step> steps;
  for (const PathInstruction& one : path) {
    if (auto step = reader.Read(one.instruction->code)) steps.push_back(*std::move(step));
  }
  DataFlow flow(std::move(steps), reader.stack_known());
  const int iterations = path.size() < kLongPath ? 16 : 6;
  const int half = iterations / 2;
  Value middle;
  Value end;
  for (int k = 0; k < iterations; ++k) {
    end = flow.Iterate();
    if (k == half - 1) middle = end;
  }
  const double n = iterations - half;
  return {.cycles = (end.ready - middle.ready) / n,
          .instructions = (end.instructions - middle.instructions) / n,
          .fmas = (end.fmas - middle.fmas) / n,
          .forwarded = end.forwards > middle.forwards};
}

}  // namespace topdnn
