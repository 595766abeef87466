#include "harness/exact/decode.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

namespace topdnn {

namespace {

enum class Kind : std::uint8_t {
  kOther,
  kFp,
  kX87,
  kBf16Dot,
  kVnni,
  kTileBf16,
  kTileInt8,
  kTileLoad,
  kTileStore
};

struct Rule {
  const char* names;  // regular expression of mnemonics
  Kind kind;
  std::uint8_t weight;  // operations of a lane: for kFp, what FP_ARITH_INST_RETIRED adds
};

// kFp is the list in the descriptions of the events (Intel SDM volume 3, chapter 20): no
// comparison, no conversion. A dot product multiplies and adds each group of a 32-bit lane.
constexpr Rule kRules[] = {
    {"v?(add|sub|mul|div|min|max|r?sqrt|rcp|rsqrt14|rcp14|hadd|hsub|addsub)[ps][sdh]", Kind::kFp,
     1},
    {"v?(dp|fn?m(add|sub).*|fcmaddc|fc?mulc)[ps][sdh]", Kind::kFp, 2},
    {"f(i?(add|sub|mul|div)r?p?|sqrt)", Kind::kX87, 1},
    {"vdpbf16ps", Kind::kBf16Dot, 4},
    {"vpdpb[su]{2}ds?", Kind::kVnni, 8},
    {"vpdpw[su]{2}ds?", Kind::kVnni, 4},
    {"tdpbf16ps", Kind::kTileBf16, 4},
    {"tdpb[su]{2}d", Kind::kTileInt8, 8},
    {"tileload.*", Kind::kTileLoad, 0},
    {"tilestore.*", Kind::kTileStore, 0},
};
// By their names; see Tally::slow_instructions.
constexpr char kSlow[] =
    ".*(div|sqrt|gather|scatter|fence|pause|rdtsc|cpuid|xsave|xrstor|xgetbv|mxcsr|pdep|pext|"
    "cmpestr|cmpistr|dpp).*";
constexpr char kOverwritesFlags[] = "add|sub|cmp|test|and|or|xor|neg|v?u?comis[sd]";
constexpr char kOverwritesRegister[] = "mov|movzx|movsxd?|lea|pop";

struct MnemonicClass {
  Kind kind = Kind::kOther;
  std::uint8_t weight = 0;
  std::uint8_t element = 0;  // kFp
  bool scalar = false;       // kFp
  bool slow = false, overwrites_flags = false, overwrites_register = false;
};

ZydisDecoder decoder;
std::array<MnemonicClass, ZYDIS_MNEMONIC_MAX_VALUE + 1> classes;

FpElement ElementOf(char type) { return type == 's' ? kF32 : type == 'd' ? kF64 : kF16; }

// Where an instruction of a category goes, if near; its target may be in a register or memory.
constexpr struct {
  ZydisInstructionCategory category;
  Flow direct, indirect;
} kBranches[] = {
    {ZYDIS_CATEGORY_COND_BR, Flow::kConditional, Flow::kUnknown},
    {ZYDIS_CATEGORY_UNCOND_BR, Flow::kJump, Flow::kIndirectJump},
    {ZYDIS_CATEGORY_CALL, Flow::kCall, Flow::kIndirectCall},
    {ZYDIS_CATEGORY_RET, Flow::kReturn, Flow::kReturn},
};

// The others that do not simply go on; those that are not named here cannot be followed.
Flow FlowOf(const Instruction& i) {
  const auto& raw = i.raw;
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL:
      return Flow::kSystemCall;
    case ZYDIS_MNEMONIC_LDTILECFG:
    case ZYDIS_MNEMONIC_TILERELEASE:
      return Flow::kTileConfiguration;
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_UIRET:
      return Flow::kUnknown;
    default:
      break;
  }
  for (const auto& branch : kBranches) {
    if (raw.meta.category != branch.category) continue;
    // (the TLS sequence of shared libraries calls with prefixes 66 66 REX.W, of which REX.W counts)
    const bool near = raw.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR &&
                      ((raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) == 0 || raw.raw.rex.W != 0);
    const bool direct = i.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    return !near ? Flow::kUnknown : direct ? branch.direct : branch.indirect;
  }
  return Flow::kNext;
}

// Memory an instruction only names: no access to data, or none that retires as a load.
bool OnlyNamesMemory(const ZydisDecodedInstruction& raw) {
  constexpr ZydisInstructionCategory kThose[] = {
      ZYDIS_CATEGORY_NOP,      ZYDIS_CATEGORY_WIDENOP,    ZYDIS_CATEGORY_PREFETCH,
      ZYDIS_CATEGORY_CLDEMOTE, ZYDIS_CATEGORY_CLFLUSHOPT, ZYDIS_CATEGORY_PREFETCHWT1,
      ZYDIS_CATEGORY_CLWB};
  return raw.mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
         std::find(std::begin(kThose), std::end(kThose), raw.meta.category) != std::end(kThose);
}

// Bytes of a memory operand; of a gather or scatter, the elements that data and index both have.
std::uint32_t Bytes(const Instruction& i, const ZydisDecodedOperand& memory) {
  if (memory.mem.type != ZYDIS_MEMOP_TYPE_VSIB) return memory.size / 8;
  const std::string_view name = ZydisMnemonicGetString(i.raw.mnemonic);
  const int index_bits =
      name.find("rq") != std::string_view::npos ? 64 : 32;  // (gatherq..., scatterq...)
  const int indices =
      ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, memory.mem.index) / index_bits;
  for (int k = 0; k < i.raw.operand_count; ++k) {
    const auto& data = i.operands[k];
    if (data.type != ZYDIS_OPERAND_TYPE_REGISTER || data.element_size == 0 ||
        ZydisRegisterGetClass(data.reg.value) == ZYDIS_REGCLASS_MASK) {
      continue;
    }
    return std::min<std::uint32_t>(data.element_count, indices) * data.element_size / 8;
  }
  return memory.size / 8;
}

// Fills in what an operand says.
void TakeOperand(const ZydisDecodedOperand& o, bool only_named, Instruction* i) {
  if (o.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o.imm.is_relative) {
    i->target = i->end() + static_cast<std::uint64_t>(o.imm.value.s);
  }
  if (o.type != ZYDIS_OPERAND_TYPE_MEMORY) return;
  if (o.mem.base == ZYDIS_REGISTER_EIP) i->flow = Flow::kUnknown;
  if (o.mem.base == ZYDIS_REGISTER_RIP) {
    i->rip_relative = true;
    i->target = i->end() + static_cast<std::uint64_t>(o.mem.disp.value);
  }
  if (only_named || (o.mem.type != ZYDIS_MEMOP_TYPE_MEM && o.mem.type != ZYDIS_MEMOP_TYPE_VSIB)) {
    return;
  }
  const bool reads = (o.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  const bool writes = (o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  i->reads |= reads;
  i->writes |= writes;
  if (reads && !i->tile) i->load += Bytes(*i, o);
  if (writes && !i->tile) i->store += Bytes(*i, o);
}

int RegisterNumber(ZydisRegister name) {
  const int r =
      ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name) - ZYDIS_REGISTER_RAX;
  return r >= 0 && r < 16 ? r : kNoRegister;
}

int OverwrittenRegister(const Instruction& i) {
  const auto& to = i.operands[0];
  if (!classes[i.raw.mnemonic].overwrites_register || to.type != ZYDIS_OPERAND_TYPE_REGISTER ||
      to.size < 32) {
    return kNoRegister;
  }
  const int r = RegisterNumber(to.reg.value);
  return r == kNoRegister || (RegistersIn(i, 1) >> r & 1) != 0 ? kNoRegister : r;
}

}  // namespace

void PrepareDecoder() {
  static const bool ready = [] {
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    const std::regex slow(kSlow);
    const std::regex flags(kOverwritesFlags);
    const std::regex registers(kOverwritesRegister);
    std::vector<std::regex> rules;
    for (const Rule& rule : kRules) rules.emplace_back(rule.names);
    for (int m = 1; m <= ZYDIS_MNEMONIC_MAX_VALUE; ++m) {
      const std::string name = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(m));
      MnemonicClass& c = classes[static_cast<std::size_t>(m)];
      c.slow = std::regex_match(name, slow);
      c.overwrites_flags = std::regex_match(name, flags);
      c.overwrites_register = std::regex_match(name, registers);
      for (std::size_t r = 0; r < rules.size(); ++r) {
        if (!std::regex_match(name, rules[r])) continue;
        c.kind = kRules[r].kind;
        c.weight = kRules[r].weight;
        c.element = ElementOf(name.back());
        c.scalar = name[name.size() - 2] == 's';
      }
    }
    return true;
  }();
  static_cast<void>(ready);
}

void Decode(std::uint64_t address, Instruction* i) noexcept {
  i->address = address;
  i->flow = Flow::kUnknown;
  i->target = i->load = i->store = 0;
  i->rip_relative = i->reads = i->writes = false;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, PointerTo<const void>(address),
                                           ZYDIS_MAX_INSTRUCTION_LENGTH, &i->raw, i->operands))) {
    i->raw.length = 0;
    return;
  }
  const MnemonicClass& c = classes[i->raw.mnemonic];
  i->flow = FlowOf(*i);
  i->rep = i->raw.meta.category == ZYDIS_CATEGORY_STRINGOP &&
           (i->raw.attributes &
            (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  i->tile = c.kind >= Kind::kTileBf16;
  const bool only_named = OnlyNamesMemory(i->raw);
  for (int k = 0; k < i->raw.operand_count; ++k) TakeOperand(i->operands[k], only_named, i);
  i->overwrites_flags = c.overwrites_flags;
  i->overwrites = OverwrittenRegister(*i);
  if (i->rep && i->raw.address_width != 64) i->flow = Flow::kUnknown;
}

void Classify(const Instruction& i, Tally* t) noexcept {
  const MnemonicClass& c = classes[i.raw.mnemonic];
  const int bits = i.raw.avx.vector_length;
  const FpWidth width = bits == 512 ? kPacked512 : bits == 256 ? kPacked256 : kPacked128;
  t->instructions += 1;
  if (c.kind == Kind::kFp) t->fp[c.element][c.scalar ? kScalar : width] += c.weight;
  t->x87 += c.kind == Kind::kX87;
  t->bf16_dot[width] += c.kind == Kind::kBf16Dot;
  if (c.kind == Kind::kVnni) {
    t->vnni[width] += 1;
    t->vnni_ops += static_cast<std::uint64_t>(c.weight * bits / 32);
  }
  t->slow_instructions += c.slow || i.flow == Flow::kSystemCall || i.rep ||
                          i.raw.meta.category == ZYDIS_CATEGORY_X87_ALU ||
                          (i.raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
                          i.raw.mnemonic == ZYDIS_MNEMONIC_XCHG;
  t->conditional_branches += i.flow == Flow::kConditional;
  t->unconditional_branches += i.flow == Flow::kJump || i.flow == Flow::kCall;
  t->indirect_branches +=
      i.flow == Flow::kIndirectJump || i.flow == Flow::kIndirectCall || i.flow == Flow::kReturn;
  t->system_calls += i.flow == Flow::kSystemCall;
  t->loads += i.reads;
  t->stores += i.writes;
  if (i.rep) return;
  t->load_bytes += i.load;
  t->store_bytes += i.store;
}

std::uint32_t RegistersIn(const Instruction& i, int first) noexcept {
  std::uint32_t mask = 0;
  for (int k = first; k < i.raw.operand_count; ++k) {
    const auto& o = i.operands[k];
    const bool memory = o.type == ZYDIS_OPERAND_TYPE_MEMORY;
    const bool itself = o.type == ZYDIS_OPERAND_TYPE_REGISTER;
    for (const ZydisRegister name :
         {itself ? o.reg.value : ZYDIS_REGISTER_NONE, memory ? o.mem.base : ZYDIS_REGISTER_NONE,
          memory ? o.mem.index : ZYDIS_REGISTER_NONE}) {
      if (const int r = RegisterNumber(name); r != kNoRegister) mask |= 1U << r;
    }
  }
  return mask;
}

void AddTiles(ZydisMnemonic mnemonic, int tile0, int tile1, const TileConfiguration& c,
              std::uint64_t times, ExactCounts* counts) noexcept {
  const MnemonicClass& what = classes[mnemonic];
  const std::uint64_t bytes = times * c.rows[tile0] * c.row_bytes[tile0];
  // C (M x N, 4 bytes each) += A (M x K groups of 4 bytes) * B: 2 bf16 or 4 int8 in a group.
  const std::uint64_t operations = bytes / 4 * (c.row_bytes[tile1] / 4U) * what.weight;
  if (what.kind == Kind::kTileLoad) counts->load_bytes += bytes;
  if (what.kind == Kind::kTileStore) counts->store_bytes += bytes;
  if (what.kind == Kind::kTileBf16) {
    counts->amx_bf16 += times;
    counts->amx_bf16_flops += operations;
  }
  if (what.kind == Kind::kTileInt8) {
    counts->amx_int8 += times;
    counts->amx_int8_ops += operations;
  }
}

}  // namespace topdnn
