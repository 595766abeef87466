#include "harness/exact/decode.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace topdnn {

namespace {

enum class Kind : std::uint8_t { kOther, kFp, kX87, kBf16Dot, kVnni8, kVnni16 };

struct MnemonicClass {
  Kind kind = Kind::kOther;
  std::uint8_t element = 0;
  bool scalar = false;
  std::uint8_t weight = 1;  // what FP_ARITH_INST_RETIRED adds
  bool slow = false;        // by its name; see Tally::slow_instructions
};

ZydisDecoder decoder;
std::array<MnemonicClass, ZYDIS_MNEMONIC_MAX_VALUE + 1> classes;

bool OneOf(std::string_view s, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), s) != names.end();
}

// Whether `stem` (a mnemonic without v and type) is arithmetic to FP_ARITH_INST_RETIRED, and its
// weight: the list in the events' descriptions.
int ArithmeticWeight(std::string_view stem) {
  if (OneOf(stem, {"add", "sub", "mul", "div", "min", "max", "sqrt", "rsqrt", "rcp", "rsqrt14",
                   "rcp14", "hadd", "hsub", "addsub"})) {
    return 1;
  }
  if (stem == "dp") return 2;
  // fmadd231, fnmsub132, fmaddsub213; FMA4 has no digits; FP16 also has complex ones.
  for (const std::string_view fused : {"fmadd", "fmsub", "fnmadd", "fnmsub"}) {
    if (stem.starts_with(fused)) return 2;
  }
  return OneOf(stem, {"fcmaddc", "fcmulc", "fmulc"}) ? 2 : 0;
}

MnemonicClass ClassOf(std::string_view name) {
  if (name == "vdpbf16ps") return {Kind::kBf16Dot};
  if (OneOf(name, {"vpdpbusd", "vpdpbusds"})) return {Kind::kVnni8};
  if (OneOf(name, {"vpdpwssd", "vpdpwssds"})) return {Kind::kVnni16};
  if (OneOf(name, {"fadd", "faddp", "fiadd", "fsub", "fsubp", "fsubr", "fsubrp", "fisub", "fisubr",
                   "fmul", "fmulp", "fimul", "fdiv", "fdivp", "fdivr", "fdivrp", "fidiv", "fidivr",
                   "fsqrt"})) {
    return {Kind::kX87};
  }
  if (name.starts_with('v')) name.remove_prefix(1);
  if (name.size() < 4) return {};
  const std::string_view type = name.substr(name.size() - 2);
  std::uint8_t element = 0;
  if (type == "ps" || type == "ss") {
    element = kF32;
  } else if (type == "pd" || type == "sd") {
    element = kF64;
  } else if (type == "ph" || type == "sh") {
    element = kF16;
  } else {
    return {};
  }
  const int weight = ArithmeticWeight(name.substr(0, name.size() - 2));
  if (weight == 0) return {};
  return {Kind::kFp, element, type[0] == 's', static_cast<std::uint8_t>(weight)};
}

bool SlowByName(std::string_view name) {
  constexpr std::string_view kParts[] = {"div",   "sqrt",  "gather",  "scatter", "fence",  "pause",
                                         "rdtsc", "cpuid", "xsave",   "xrstor",  "xgetbv", "mxcsr",
                                         "pdep",  "pext",  "cmpestr", "cmpistr", "dpp"};
  return std::any_of(std::begin(kParts), std::end(kParts), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

bool OverwritesFlags(const Instruction& i) {
  constexpr ZydisMnemonic kThose[] = {
      ZYDIS_MNEMONIC_ADD,      ZYDIS_MNEMONIC_SUB,      ZYDIS_MNEMONIC_CMP,
      ZYDIS_MNEMONIC_TEST,     ZYDIS_MNEMONIC_AND,      ZYDIS_MNEMONIC_OR,
      ZYDIS_MNEMONIC_XOR,      ZYDIS_MNEMONIC_NEG,      ZYDIS_MNEMONIC_UCOMISS,
      ZYDIS_MNEMONIC_UCOMISD,  ZYDIS_MNEMONIC_COMISS,   ZYDIS_MNEMONIC_COMISD,
      ZYDIS_MNEMONIC_VUCOMISS, ZYDIS_MNEMONIC_VUCOMISD, ZYDIS_MNEMONIC_VCOMISS,
      ZYDIS_MNEMONIC_VCOMISD};
  return std::find(std::begin(kThose), std::end(kThose), i.raw.mnemonic) != std::end(kThose);
}

Flow FlowOf(const Instruction& i) {
  const bool direct = i.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  const auto& raw = i.raw;
  // (the TLS sequence of shared libraries calls with prefixes 66 66 REX.W, of which REX.W counts)
  const bool near = raw.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR &&
                    ((raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) == 0 || raw.raw.rex.W != 0);
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
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return near ? Flow::kConditional : Flow::kUnknown;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return !near ? Flow::kUnknown : direct ? Flow::kJump : Flow::kIndirectJump;
    case ZYDIS_CATEGORY_CALL:
      return !near ? Flow::kUnknown : direct ? Flow::kCall : Flow::kIndirectCall;
    case ZYDIS_CATEGORY_RET:
      return near ? Flow::kReturn : Flow::kUnknown;
    default:
      return Flow::kNext;
  }
}

// Memory an instruction only names: no access to data, or none that retires as a load.
bool OnlyNamesMemory(const ZydisDecodedInstruction& raw) {
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
      return true;
    default:
      return raw.mnemonic == ZYDIS_MNEMONIC_CLFLUSH;
  }
}

bool IsRep(const ZydisDecodedInstruction& raw) {
  return raw.meta.category == ZYDIS_CATEGORY_STRINGOP &&
         (raw.attributes &
          (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
}

bool IsData(const ZydisDecodedOperand& o) {
  return o.type == ZYDIS_OPERAND_TYPE_MEMORY &&
         (o.mem.type == ZYDIS_MEMOP_TYPE_MEM || o.mem.type == ZYDIS_MEMOP_TYPE_VSIB);
}

std::uint32_t Bytes(const Instruction& i, const ZydisDecodedOperand& o) {
  if (o.mem.type != ZYDIS_MEMOP_TYPE_VSIB) return o.size / 8;
  // A gather or scatter: one element per lane of the shorter of data and index.
  const bool wide_index = o.mem.index >= ZYDIS_REGISTER_XMM0;
  std::uint32_t lanes = 0;
  for (int k = 0; k < i.raw.operand_count; ++k) {
    const auto& data = i.operands[k];
    if (&data == &o || data.type != ZYDIS_OPERAND_TYPE_REGISTER || data.element_size == 0) continue;
    if (ZydisRegisterGetClass(data.reg.value) == ZYDIS_REGCLASS_MASK) continue;
    lanes = data.element_count;
    if (wide_index) {
      const auto index_bits = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o.mem.index);
      const std::string_view name = ZydisMnemonicGetString(i.raw.mnemonic);
      const bool quad = name[name.size() - 2] == 'q' || name.find("rq") != name.npos;
      lanes = std::min<std::uint32_t>(lanes, index_bits / (quad ? 64 : 32));
    }
    return lanes * data.element_size / 8;
  }
  return o.size / 8;
}

FpWidth WidthOf(const ZydisDecodedInstruction& raw) {
  if (raw.avx.vector_length == 512) return kPacked512;
  return raw.avx.vector_length == 256 ? kPacked256 : kPacked128;
}

}  // namespace

void PrepareDecoder() {
  static const bool ready = [] {
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (int m = 0; m <= ZYDIS_MNEMONIC_MAX_VALUE; ++m) {
      const char* name = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(m));
      if (name == nullptr) continue;
      classes[static_cast<std::size_t>(m)] = ClassOf(name);
      classes[static_cast<std::size_t>(m)].slow = SlowByName(name);
    }
    return true;
  }();
  (void)ready;
}

void Decode(std::uint64_t address, Instruction* i) noexcept {
  i->address = address;
  i->flow = Flow::kUnknown;
  i->rip_relative = i->overwrites_flags = false;
  i->target = i->rip_target = 0;
  i->rep_load = i->rep_store = 0;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, PointerTo<const void>(address),
                                           ZYDIS_MAX_INSTRUCTION_LENGTH, &i->raw, i->operands))) {
    i->raw.length = 0;
    return;
  }
  i->flow = FlowOf(*i);
  i->overwrites_flags = OverwritesFlags(*i);
  const bool rep = IsRep(i->raw);
  for (int k = 0; k < i->raw.operand_count; ++k) {
    const auto& o = i->operands[k];
    if (o.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o.imm.is_relative) {
      i->target = i->end() + static_cast<std::uint64_t>(o.imm.value.s);
    }
    if (o.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    if (o.mem.base == ZYDIS_REGISTER_EIP) i->flow = Flow::kUnknown;
    if (o.mem.base == ZYDIS_REGISTER_RIP) {
      i->rip_relative = true;
      i->rip_target = i->end() + static_cast<std::uint64_t>(o.mem.disp.value);
    }
    if (!rep) continue;
    if ((o.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0) i->rep_load += o.size / 8;
    if ((o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) i->rep_store += o.size / 8;
  }
  if (rep && i->raw.address_width != 64) i->flow = Flow::kUnknown;
}

void Classify(const Instruction& i, Tally* t) noexcept {
  t->instructions += 1;
  const MnemonicClass c = classes[i.raw.mnemonic];
  const FpWidth width = WidthOf(i.raw);
  const std::uint64_t lanes = 4U << (width - kPacked128);  // of 32 bits
  switch (c.kind) {
    case Kind::kFp:
      t->fp[c.element][c.scalar ? kScalar : width] += c.weight;
      break;
    case Kind::kX87:
      t->x87 += 1;
      break;
    case Kind::kBf16Dot:
      t->bf16_dot[width] += 1;
      break;
    case Kind::kVnni8:
    case Kind::kVnni16:
      t->vnni[width] += 1;
      t->vnni_ops += lanes * (c.kind == Kind::kVnni8 ? 8 : 4);
      break;
    case Kind::kOther:
      break;
  }
  t->slow_instructions += c.slow || i.flow == Flow::kSystemCall || IsRep(i.raw) ||
                          i.raw.meta.category == ZYDIS_CATEGORY_X87_ALU ||
                          (i.raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
                          i.raw.mnemonic == ZYDIS_MNEMONIC_XCHG;
  t->conditional_branches += i.flow == Flow::kConditional;
  t->unconditional_branches += i.flow == Flow::kJump || i.flow == Flow::kCall;
  t->indirect_branches +=
      i.flow == Flow::kIndirectJump || i.flow == Flow::kIndirectCall || i.flow == Flow::kReturn;
  t->system_calls += i.flow == Flow::kSystemCall;
  if (OnlyNamesMemory(i.raw)) return;
  bool load = false;
  bool store = false;
  const bool dynamic = i.rep_load + i.rep_store != 0 || IsTileWork(i);
  for (int k = 0; k < i.raw.operand_count; ++k) {
    const auto& o = i.operands[k];
    if (!IsData(o)) continue;
    const bool reads = (o.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    const bool writes = (o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    load |= reads;
    store |= writes;
    if (dynamic) continue;
    if (reads) t->load_bytes += Bytes(i, o);
    if (writes) t->store_bytes += Bytes(i, o);
  }
  t->loads += load;
  t->stores += store;
}

bool IsTileWork(const Instruction& i) noexcept {
  switch (i.raw.mnemonic) {
    case ZYDIS_MNEMONIC_TDPBF16PS:
    case ZYDIS_MNEMONIC_TDPBSSD:
    case ZYDIS_MNEMONIC_TDPBSUD:
    case ZYDIS_MNEMONIC_TDPBUSD:
    case ZYDIS_MNEMONIC_TDPBUUD:
    case ZYDIS_MNEMONIC_TILELOADD:
    case ZYDIS_MNEMONIC_TILELOADDT1:
    case ZYDIS_MNEMONIC_TILESTORED:
      return true;
    default:
      return false;
  }
}

TileWork WorkOf(ZydisMnemonic m, int tile0, int tile1, const TileConfiguration& c) noexcept {
  const std::uint64_t rows = c.rows[tile0];
  const std::uint64_t bytes = rows * c.row_bytes[tile0];
  if (m == ZYDIS_MNEMONIC_TILESTORED) return {.store_bytes = bytes};
  if (m == ZYDIS_MNEMONIC_TILELOADD || m == ZYDIS_MNEMONIC_TILELOADDT1)
    return {.load_bytes = bytes};
  // C (M x N, 4 bytes each) += A (M x K groups of 4 bytes) * B: 2 bf16 or 4 int8 in a group.
  const std::uint64_t groups = rows * (c.row_bytes[tile0] / 4) * (c.row_bytes[tile1] / 4);
  if (m == ZYDIS_MNEMONIC_TDPBF16PS) return {.bf16_flops = groups * 4};
  return {.int8_ops = groups * 8};
}

}  // namespace topdnn
