#include "harness/hot/instruction_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace topdnn {

namespace {

std::string_view MnemonicOf(const Instruction& i) { return ZydisMnemonicGetString(i.raw.mnemonic); }

bool IsEvex(const Instruction& i) { return (i.raw.attributes & ZYDIS_ATTRIB_HAS_EVEX) != 0; }

bool IsMasked(const Instruction& i) {
  return IsEvex(i) && i.raw.avx.mask.reg != ZYDIS_REGISTER_NONE &&
         i.raw.avx.mask.reg != ZYDIS_REGISTER_K0;
}

bool IsVector(ZydisRegister name) { return IsFollowedVector(FollowedRegister(name)); }

std::string RegisterKind(const ZydisDecodedOperand& o) {
  const int number = FollowedRegister(o.reg.value);
  if (number == kNothing) return "?";
  if (number >= 48) return "k";
  if (number < 16) return fmt::format("g{}", o.size);
  const auto kind = ZydisRegisterGetClass(o.reg.value);
  return kind == ZYDIS_REGCLASS_ZMM ? "z" : kind == ZYDIS_REGCLASS_YMM ? "y" : "x";
}

std::string MemoryKind(const Instruction& i, const ZydisDecodedOperand& o) {
  if (o.mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
    return fmt::format("a{}{}{}", o.size, o.mem.index != ZYDIS_REGISTER_NONE ? "i" : "",
                       o.mem.disp.has_displacement && o.mem.disp.value != 0 ? "d" : "");
  }
  const bool broadcast = IsEvex(i) && i.raw.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID;
  return fmt::format("{}{}{}", o.mem.type == ZYDIS_MEMOP_TYPE_VSIB ? "v" : "m", o.size,
                     broadcast ? "b" : "");
}

// Categories whose instructions only compute on their explicit operands, flags, rax, rcx and rdx.
bool IsArithmetic(ZydisInstructionCategory category) {
  switch (category) {
    case ZYDIS_CATEGORY_AVX:
    case ZYDIS_CATEGORY_AVX2:
    case ZYDIS_CATEGORY_AVX512:
    case ZYDIS_CATEGORY_AVX512_BITALG:
    case ZYDIS_CATEGORY_AVX512_VBMI:
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_BLEND:
    case ZYDIS_CATEGORY_BMI1:
    case ZYDIS_CATEGORY_BMI2:
    case ZYDIS_CATEGORY_BROADCAST:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_COMPRESS:
    case ZYDIS_CATEGORY_CONVERT:
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_EXPAND:
    case ZYDIS_CATEGORY_FP16:
    case ZYDIS_CATEGORY_IFMA:
    case ZYDIS_CATEGORY_KMASK:
    case ZYDIS_CATEGORY_LOGICAL:
    case ZYDIS_CATEGORY_LOGICAL_FP:
    case ZYDIS_CATEGORY_LZCNT:
    case ZYDIS_CATEGORY_MISC:
    case ZYDIS_CATEGORY_ROTATE:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_SSE:
    case ZYDIS_CATEGORY_VBMI2:
    case ZYDIS_CATEGORY_VFMA:
      return true;
    default:
      return false;
  }
}

// Instructions of these categories that may not run alone: they change other state, or divide by a
// register.
bool IsHarmful(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_STMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_VSTMXCSR:
    case ZYDIS_MNEMONIC_VZEROUPPER:
    case ZYDIS_MNEMONIC_VZEROALL:
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_SFENCE:
    case ZYDIS_MNEMONIC_XCHG:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_ENTER:
      return true;
    default:
      return false;
  }
}

bool IsHarmlessOperand(const ZydisDecodedOperand& o) {
  const bool explicit_one = o.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
  switch (o.type) {
    case ZYDIS_OPERAND_TYPE_MEMORY:
      return explicit_one && o.mem.segment != ZYDIS_REGISTER_FS &&
             o.mem.segment != ZYDIS_REGISTER_GS &&
             (o.mem.type == ZYDIS_MEMOP_TYPE_MEM || o.mem.type == ZYDIS_MEMOP_TYPE_AGEN);
    case ZYDIS_OPERAND_TYPE_REGISTER: {
      const auto kind = ZydisRegisterGetClass(o.reg.value);
      if (kind == ZYDIS_REGCLASS_FLAGS || o.reg.value == ZYDIS_REGISTER_MXCSR) return true;
      const int number = FollowedRegister(o.reg.value);
      if (number == kNothing ||
          (o.reg.value >= ZYDIS_REGISTER_AH && o.reg.value <= ZYDIS_REGISTER_BH))
        return false;
      return explicit_one || number <= 2;  // rax, rcx, rdx
    }
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      return !o.imm.is_relative;
    default:
      return false;
  }
}

}  // namespace

int FollowedRegister(ZydisRegister name) {
  const auto kind = ZydisRegisterGetClass(name);
  switch (kind) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
      return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name) -
             ZYDIS_REGISTER_RAX;
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
      return 16 + ZydisRegisterGetId(name);
    case ZYDIS_REGCLASS_MASK:
      return 48 + ZydisRegisterGetId(name);
    default:
      return kNothing;
  }
}

std::vector<const ZydisDecodedOperand*> OperandsOf(const Instruction& i) {
  std::vector<const ZydisDecodedOperand*> operands;
  for (int k = 0; k < i.raw.operand_count; ++k) {
    const ZydisDecodedOperand& o = i.operands[k];
    if (o.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT &&
        o.encoding != ZYDIS_OPERAND_ENCODING_MASK) {
      operands.push_back(&o);
    }
  }
  return operands;
}

std::string FormOf(const Instruction& i) {
  std::string form(MnemonicOf(i));
  for (const ZydisDecodedOperand* o : OperandsOf(i)) {
    form += ' ';
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) form += RegisterKind(*o);
    if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) form += MemoryKind(i, *o);
    if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) form += o->imm.is_relative ? "rel" : "i";
  }
  if (IsMasked(i)) {
    form += " {k}";
    if (i.raw.avx.mask.mode == ZYDIS_MASK_MODE_ZEROING) form += "{z}";
  }
  if (IsZeroIdiom(i)) form += " zero";
  if ((i.raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0) form += " lock";
  if (i.rep) form += " rep";
  return form;
}

bool IsZeroIdiom(const Instruction& i) {
  switch (i.raw.mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_VXORPD:
    case ZYDIS_MNEMONIC_VPXORD:
    case ZYDIS_MNEMONIC_VPXORQ:
    case ZYDIS_MNEMONIC_VPSUBD:
      break;
    default:
      return false;
  }
  const auto operands = OperandsOf(i);
  if (operands.size() < 2 || IsMasked(i)) return false;
  const auto is_register = [](const ZydisDecodedOperand* o) {
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER;
  };
  return std::all_of(operands.begin(), operands.end(), is_register) &&
         operands.back()->reg.value == operands[operands.size() - 2]->reg.value;
}

bool IsPlainMove(const Instruction& i) {
  std::string_view name = MnemonicOf(i);
  if (name.starts_with('v')) name.remove_prefix(1);
  constexpr std::string_view kMoves[] = {"mov",      "movaps",   "movups",  "movapd",
                                         "movupd",   "movdqa",   "movdqu",  "movdqa32",
                                         "movdqa64", "movdqu32", "movdqu64"};
  const auto operands = OperandsOf(i);
  return std::find(std::begin(kMoves), std::end(kMoves), name) != std::end(kMoves) &&
         operands.size() == 2 && operands[0]->type == ZYDIS_OPERAND_TYPE_REGISTER &&
         operands[1]->type == ZYDIS_OPERAND_TYPE_REGISTER && !IsMasked(i) &&
         IsVector(operands[0]->reg.value) == IsVector(operands[1]->reg.value);
}

bool CanRunAlone(const Instruction& i) {
  if (!IsArithmetic(i.raw.meta.category) || IsHarmful(i.raw.mnemonic) || i.rep || i.tile ||
      i.flow != Flow::kNext || (i.raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
      i.raw.address_width != 64 || i.raw.operand_count_visible == 0) {
    return false;
  }
  return std::all_of(i.operands, i.operands + i.raw.operand_count, IsHarmlessOperand);
}

bool CanChain(const Instruction& i) {
  const auto operands = OperandsOf(i);
  const auto kind = [](ZydisRegister name) { return FollowedRegister(name) / 16; };
  for (const ZydisDecodedOperand* to : operands) {
    if (to->type != ZYDIS_OPERAND_TYPE_REGISTER ||
        (to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) {
      continue;
    }
    const int written = kind(to->reg.value);
    return std::any_of(operands.begin(), operands.end(), [&](const ZydisDecodedOperand* o) {
      if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        return o->mem.type == ZYDIS_MEMOP_TYPE_AGEN && written == 0;
      }
      const bool reads = (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
      const bool same =
          o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
          (kind(o->reg.value) == written || (IsVector(o->reg.value) && IsVector(to->reg.value)));
      return reads && same;
    });
  }
  return false;
}

}  // namespace topdnn
