#include "harness/exact/instructions/decode.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

namespace topdnn {

namespace {

enum Kind { kOther, kFp, kX87, kBf16Dot, kVnni, kTileBf16, kTileInt8, kTileLoad, kTileStore };

enum Trait { kSlow = 1, kWritesFlags = 2, kWritesRegister = 4, kOnlyNames = 8, kFusible = 16 };

// Classifies instructions by name; `names` is a regular expression.
struct Rule {
  const char* names = "";
  Kind kind = kOther;
  std::uint8_t weight = 0;  // operations per lane
  Flow flow = Flow::kNext;  // for a direct near branch
  int traits = 0;
};
constexpr Rule kRules[] = {
    // Arithmetic. kFp and its weights follow the descriptions of FP_ARITH_INST_RETIRED (Intel SDM
    // volume 3, chapter 20), which exclude comparisons and conversions. A dot product multiplies
    // and adds each element of a 32-bit lane: 2 operations per element.
    {"v?(add|sub|mul|div|min|max|r?sqrt|rcp|rsqrt14|rcp14|hadd|hsub|addsub)[ps][sdh]", kFp, 1},
    {"v?(dp|fn?m(add|sub).*|fcmaddc|fc?mulc)[ps][sdh]", kFp, 2},
    {"f(i?(add|sub|mul|div)r?p?|sqrt)", kX87, 1},
    {"vdpbf16ps", kBf16Dot, 4},
    {"vpdpb[su]{2}ds?", kVnni, 8},
    {"vpdpw[su]{2}ds?", kVnni, 4},
    {"tdpbf16ps", kTileBf16, 4},
    {"tdpb[su]{2}d", kTileInt8, 8},
    {"tileload.*", kTileLoad},
    {"tilestore.*", kTileStore},
    // Control flow.
    {.names = "j(?!mp).*|loop.*", .flow = Flow::kConditional},
    {.names = "jmp", .flow = Flow::kJump},
    {.names = "call", .flow = Flow::kCall},
    {.names = "ret", .flow = Flow::kReturn},
    {.names = "syscall", .flow = Flow::kSystemCall},
    {.names = "ldtilecfg|tilerelease", .flow = Flow::kTileConfiguration},
    {.names = "xbegin|xabort|sysenter|int|iretq?|uiret", .flow = Flow::kUnknown},
    // May take much longer than a load followed by a multiply-add.
    {.names = ".*(div|sqrt|gather|scatter|fence|pause|rdtsc|cpuid|xsave|xrstor|xgetbv|mxcsr).*|"
              "pdep|pext|v?pcmp[ei]str.|v?dpp[sd]|xchg",
     .traits = kSlow},
    // Write all the flags and read none.
    {.names = "add|sub|cmp|test|and|or|xor|neg|v?u?comis[sd]", .traits = kWritesFlags},
    // Overwrite their first operand completely.
    {.names = "mov|movzx|movsxd?|lea|pop", .traits = kWritesRegister},
    // Name a memory operand but do not access it, or do not retire a load.
    {.names = "nop|prefetch.*|v(gather|scatter)pf.*|cldemote|clflush(opt)?|clwb",
     .traits = kOnlyNames},
    // Some cores fuse them with a neighbour, as they do moves between registers.
    {.names = "nop|endbr(32|64)", .traits = kFusible},
};

struct MnemonicClass : Rule {
  FpElement element = kF32;  // kFp
  bool scalar = false;       // kFp
};

ZydisDecoder decoder;
std::array<MnemonicClass, ZYDIS_MNEMONIC_MAX_VALUE + 1> classes;

void Apply(const Rule& rule) {
  const std::regex pattern(rule.names);
  for (std::size_t m = 1; m < classes.size(); ++m) {
    const std::string_view name = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(m));
    if (!std::regex_match(name.begin(), name.end(), pattern)) continue;
    MnemonicClass& c = classes[m];
    c.element = name.back() == 's' ? kF32 : name.back() == 'd' ? kF64 : kF16;
    c.scalar = name.size() > 1 && name[name.size() - 2] == 's';
    c.weight += rule.weight;
    if (rule.kind != kOther) c.kind = rule.kind;
    if (rule.flow != Flow::kNext) c.flow = rule.flow;
    c.traits |= rule.traits;
  }
}

Flow FlowOf(const Instruction& i) {
  const auto& raw = i.raw;
  const Flow flow = classes[raw.mnemonic].flow;
  if (flow == Flow::kNext || flow > Flow::kReturn) return flow;
  // The TLS sequence of shared libraries calls with prefixes 66 66 REX.W. There REX.W sets the
  // operand size, and 66 has no effect.
  if (raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
      ((raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0 && raw.raw.rex.W == 0)) {
    return Flow::kUnknown;
  }
  const bool direct = i.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  if (flow == Flow::kJump && !direct) return Flow::kIndirectJump;
  return flow == Flow::kCall && !direct ? Flow::kIndirectCall : flow;
}

// Bytes of a memory operand. For a gather or scatter: the elements present in both data and index.
std::uint32_t Bytes(const Instruction& i, const ZydisDecodedOperand& memory) {
  if (memory.mem.type != ZYDIS_MEMOP_TYPE_VSIB) return memory.size / 8;
  const std::string_view name = ZydisMnemonicGetString(i.raw.mnemonic);
  const bool quad = name.find("rq") != std::string_view::npos;  // gatherq..., scatterq...
  const int data = i.operands[i.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? 0 : 2].size;
  const int index = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, memory.mem.index);
  const int lanes = std::min(data / memory.size, index / (quad ? 64 : 32));
  return static_cast<std::uint32_t>(lanes * memory.size / 8);
}

// Adds the properties of one operand.
void TakeOperand(const ZydisDecodedOperand& o, Instruction* i) {
  if (o.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o.imm.is_relative) {
    i->target = i->end() + static_cast<std::uint64_t>(o.imm.value.s);
  }
  if (o.type != ZYDIS_OPERAND_TYPE_MEMORY) return;
  if (o.mem.base == ZYDIS_REGISTER_EIP) i->flow = Flow::kUnknown;
  if (o.mem.base == ZYDIS_REGISTER_RIP) {
    i->rip_relative = true;
    i->target = i->end() + static_cast<std::uint64_t>(o.mem.disp.value);
  }
  const bool only_named = (classes[i->raw.mnemonic].traits & kOnlyNames) != 0;
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
  return r >= 0 && r < 16 ? r : kNothing;
}

bool IsRegisterMove(const Instruction& i) {
  return i.raw.mnemonic == ZYDIS_MNEMONIC_MOV &&
         i.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         i.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

int OverwrittenBy(const Instruction& i) {
  const int traits = classes[i.raw.mnemonic].traits;
  const auto& to = i.operands[0];
  if ((traits & kWritesFlags) != 0) return kFlags;
  if ((traits & kWritesRegister) == 0 || to.type != ZYDIS_OPERAND_TYPE_REGISTER || to.size < 32) {
    return kNothing;
  }
  const int r = RegisterNumber(to.reg.value);
  const bool read = r == kNothing || (RegistersIn(i, 1) >> r & 1) != 0;
  return read || (r & 7) == 4 ? kNothing : r;
}

}  // namespace

void PrepareDecoder() {
  static const bool ready = [] {
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (const Rule& rule : kRules) Apply(rule);
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
  i->tile = c.kind >= kTileBf16;
  for (int k = 0; k < i->raw.operand_count; ++k) TakeOperand(i->operands[k], i);
  i->overwrites = OverwrittenBy(*i);
  if (i->rep && i->raw.address_width != 64) i->flow = Flow::kUnknown;
}

void Classify(const Instruction& i, Tally* t) noexcept {
  const MnemonicClass& c = classes[i.raw.mnemonic];
  const int bits = i.raw.avx.vector_length;
  const FpWidth width = bits == 512 ? kPacked512 : bits == 256 ? kPacked256 : kPacked128;
  t->instructions += 1;
  if (c.kind == kFp) t->fp[c.element][c.scalar ? kScalar : width] += c.weight;
  t->x87 += c.kind == kX87;
  t->bf16_dot[width] += c.kind == kBf16Dot;
  if (c.kind == kVnni) {
    t->vnni[width] += 1;
    t->vnni_ops += static_cast<std::uint64_t>(c.weight * bits / 32);
  }
  const bool locked = (i.raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
  t->slow_instructions += (c.traits & kSlow) != 0 || i.flow == Flow::kSystemCall || i.rep ||
                          i.raw.meta.category == ZYDIS_CATEGORY_X87_ALU || locked;
  t->atomic_instructions += locked || i.raw.mnemonic == ZYDIS_MNEMONIC_PAUSE ||
                            (i.raw.mnemonic == ZYDIS_MNEMONIC_XCHG && i.writes);
  t->fusible_instructions += (c.traits & kFusible) != 0 || IsRegisterMove(i);
  t->instruction_bytes += i.raw.length;
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
  const auto add = [&](ZydisRegister name) {
    if (const int r = RegisterNumber(name); r != kNothing) mask |= 1U << r;
  };
  for (int k = first; k < i.raw.operand_count; ++k) {
    const auto& o = i.operands[k];
    if (o.type == ZYDIS_OPERAND_TYPE_REGISTER) add(o.reg.value);
    if (o.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    add(o.mem.base);
    add(o.mem.index);
  }
  return mask;
}

void AddTiles(ZydisMnemonic mnemonic, int tile0, int tile1, const TileConfiguration& c,
              std::uint64_t times, ExactCounts* counts) noexcept {
  const MnemonicClass& what = classes[mnemonic];
  const std::uint64_t bytes = times * c.rows[tile0] * c.row_bytes[tile0];
  // C (M x N, 4 bytes each) += A (M x K groups of 4 bytes) * B: 2 bf16 or 4 int8 in a group.
  const std::uint64_t operations = bytes / 4 * (c.row_bytes[tile1] / 4U) * what.weight;
  if (what.kind == kTileLoad) counts->load_bytes += bytes;
  if (what.kind == kTileStore) counts->store_bytes += bytes;
  if (what.kind == kTileBf16) {
    counts->amx_bf16 += times;
    counts->amx_bf16_flops += operations;
  }
  if (what.kind == kTileInt8) {
    counts->amx_int8 += times;
    counts->amx_int8_ops += operations;
  }
}

}  // namespace topdnn
