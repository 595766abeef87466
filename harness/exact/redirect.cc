// Emits code that records or redirects memory operands.

#include "harness/exact/redirect.h"

#if defined(__x86_64__)

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "harness/exact/context.h"
#include "harness/exact/emitter.h"

namespace topdnn {

namespace {

bool IsVector(ZydisRegister name) {
  const ZydisRegisterClass kind = ZydisRegisterGetClass(name);
  return kind == ZYDIS_REGCLASS_XMM || kind == ZYDIS_REGCLASS_YMM || kind == ZYDIS_REGCLASS_ZMM;
}

// The first operand that is a vector register; null: none.
const ZydisDecodedOperand* VectorOf(const Instruction& i) {
  for (int k = 0; k < i.raw.operand_count_visible; ++k) {
    const ZydisDecodedOperand& o = i.operands[k];
    if (o.type == ZYDIS_OPERAND_TYPE_REGISTER && IsVector(o.reg.value)) return &o;
  }
  return nullptr;
}

bool IsPrefetch(const Instruction& i) { return i.raw.meta.category == ZYDIS_CATEGORY_PREFETCH; }

// The operand whose address LEA can compute; null: none. The stack, constants next to the code,
// thread-local memory and operands that are not written in the instruction stay as they are.
const ZydisDecodedOperand* OperandOf(const Instruction& i) {
  if (i.rep || i.flow != Flow::kNext || i.raw.address_width != 64) return nullptr;
  const ZydisDecodedOperand* memory = nullptr;
  for (int k = 0; k < i.raw.operand_count; ++k) {
    const ZydisDecodedOperand& o = i.operands[k];
    if (o.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    if (o.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) return nullptr;
    memory = &o;
  }
  if (memory == nullptr || !(i.reads || i.writes || IsPrefetch(i) || i.tile)) return nullptr;
  const auto& m = memory->mem;
  const bool special = m.base == ZYDIS_REGISTER_RIP || m.base == ZYDIS_REGISTER_RSP ||
                       m.segment == ZYDIS_REGISTER_FS || m.segment == ZYDIS_REGISTER_GS;
  return special ? nullptr : memory;
}

// Whether the operand can be replaced by a place near the code. Gathers and tiles cannot: their
// addresses are computed from registers.
bool CanReplace(const Instruction& i, const ZydisDecodedOperand& memory) {
  if (memory.mem.type != ZYDIS_MEMOP_TYPE_MEM || i.tile) return false;
  return IsPrefetch(i) || (i.reads != i.writes && VectorOf(i) != nullptr);
}

// Arithmetic on vectors, by name: addps, vfmadd231ss, and some on integers such as vpdpbusd. Moves
// are not: compilers copy any 16 bytes with movups.
bool IsFloatArithmetic(const Instruction& i) {
  const std::string_view name = ZydisMnemonicGetString(i.raw.mnemonic);
  const auto ends = [name](std::string_view end) { return name.ends_with(end); };
  return name.find("mov") == std::string_view::npos &&
         (ends("ps") || ends("pd") || ends("ss") || ends("sd"));
}

// Whether it computes values of tensors, by name. Moves, shuffles, logic and arithmetic on integers
// are not included: compilers copy and compute addresses with them.
bool OnlyComputesValues(const Instruction& i) {
  const std::string_view name = ZydisMnemonicGetString(i.raw.mnemonic);
  const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
  return IsFloatArithmetic(i) && !has("pm") &&
         (has("add") || has("sub") || has("mul") || has("max") || has("min") || has("dp"));
}

// Nothing that the instruction writes is part of an address or decides a branch.
bool WritesOnlyVectors(const Instruction& i) {
  const ZydisDecodedOperand& to = i.operands[0];
  return (to.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 &&
         (to.type == ZYDIS_OPERAND_TYPE_MEMORY || IsVector(to.reg.value));
}

int NumberOf(ZydisRegister name) {
  return name == ZYDIS_REGISTER_NONE ? -1 : ZydisRegisterGetId(name);
}

// lea rcx, [the operand], without the index if that is a vector.
void EmitAddress(Emitter& e, const ZydisDecodedOperand& memory) {
  const auto& m = memory.mem;
  const int base = NumberOf(m.base);
  const int index = m.type == ZYDIS_MEMOP_TYPE_VSIB ? -1 : NumberOf(m.index);
  const int scale = m.scale == 8 ? 3 : m.scale == 4 ? 2 : m.scale == 2 ? 1 : 0;
  e.Bytes({0x48 | (base >= 8 ? 1 : 0) | (index >= 8 ? 2 : 0), 0x8d, base < 0 ? 0x0c : 0x8c,
           scale << 6 | (index < 0 ? 4 : index & 7) << 3 | (base < 0 ? 5 : base & 7)});
  e.U32(static_cast<std::uint32_t>(m.disp.has_displacement ? m.disp.value : 0));
}

// *slot = rcx, unless `jump` is taken after the comparison of rcx with *slot. Changes the flags.
void EmitExtreme(Emitter& e, int jump, const void* slot) {
  constexpr int kStoreBytes = 7;
  e.Bytes({0x48, 0x3b, 0x0d});  // cmp rcx, [slot]
  e.Displacement(slot);
  e.Bytes({jump, kStoreBytes});
  e.Store(slot, kRcx);
}

// An ordinary store instead of one that goes past the caches: movntps, movntpd and movntdq become
// movups, movupd and movdqa.
void MakeOrdinary(std::uint8_t* opcode, const Instruction& i) {
  if (!i.writes || IsPrefetch(i)) return;
  const std::string_view name = ZydisMnemonicGetString(i.raw.mnemonic);
  if (name.find("movnt") == std::string_view::npos) return;
  *opcode = *opcode == 0x2b ? 0x11 : 0x7f;
}

// movaps r, r with as many bytes as the instruction, if it has enough; r: the first vector register
// that it names. The move takes a slot and, on most cores, no unit. No-operations do not serve:
// cores fuse them with their neighbours.
void EmitPlaceholder(Context* c, const Instruction& i) {
  const int r = NumberOf(VectorOf(i)->reg.value);
  const int bit3 = r >> 3 & 1;
  const int bit4 = r >> 4 & 1;
  const int width = i.raw.avx.vector_length / 256;  // 0, 1 or 2
  const bool evex = i.raw.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
  const bool vex = i.raw.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
  Emitter e(c);
  for (int n = evex ? 6 : vex ? 5 : 4; n < i.raw.length; ++n)
    e.Byte(0x3e);  // a prefix without effect
  if (evex) e.Bytes({0x62, 0xf1 ^ (bit3 * 0xa0 | bit4 * 0x50), 0x7c, 0x08 | width << 5});
  if (vex) e.Bytes({0xc4, 0xe1 ^ bit3 * 0xa0, 0x78 | width << 2});
  if (!evex && !vex) e.Bytes({0x40 | bit3 * 5, 0x0f});
  e.Bytes({0x28, 0xc0 | (r & 7) * 9});
  c->mark.address = i.end();
  e.Mark();
}

}  // namespace

Translation& CurrentTranslation() noexcept {
  static Translation translation;
  return translation;
}

// The flags are kept in rax. (Vector instructions would leave them alone. But SSE's keep the upper
// parts of a register, so each waits for the one before, and for the region's own AVX instructions:
// with them, this run of a convolution took 450 times its time, and it takes 7 times without.)
void EmitRecord(Context* c, const Instruction& i, std::uint32_t counter) noexcept {
  const ZydisDecodedOperand* memory = OperandOf(i);
  if ((memory == nullptr && !i.rep) || c->operands.count == kMaxItems) return;
  OperandRecord& r = c->operands.Add({});
  r.low = std::numeric_limits<std::uint64_t>::max();
  r.high = 0;
  r.instruction = i.address;
  r.counter = counter;
  r.size = i.tile ? 1024 : i.rep ? 0 : std::max(i.load, i.store);
  r.store = i.writes;
  r.prefetch = IsPrefetch(i);
  r.vector = !i.rep && CanReplace(i, *memory);
  r.floats = i.rep || i.raw.avx.vector_length >= 256 || IsFloatArithmetic(i);
  constexpr int kBoth = kRaxSpilled | kRcxSpilled;
  Emitter e(c);
  e.Spill(kRcx);
  e.Mark(kRcxSpilled);
  if (i.rep) {
    e.Bytes({0x48, 0x8d, 0x0f});  // lea rcx, [rdi]
  } else {
    EmitAddress(e, *memory);
  }
  e.Spill(kRax);
  e.Mark(kBoth);
  e.Bytes({0x9f, 0x0f, 0x90, 0xc0});  // lahf; seto al
  e.Mark(kBoth | kFlagsInRax);
  e.Store(&r.last, kRcx);
  EmitExtreme(e, 0x73, &r.low);   // jae
  EmitExtreme(e, 0x76, &r.high);  // jbe
  if (r.size > 1 && r.size <= kLineBytes) {
    e.Bytes({0x83, 0xe1, kLineBytes - 1, 0x81, 0xc1});  // and ecx, 63; add ecx, ...
    e.U32(r.size - kLineBytes - 1);                     // carries if the place is after 64 - size
    e.Bytes({0x48, 0x83, 0x15});                        // adc qword [crossings], 0
    e.Displacement(&r.crossings, 1);
    e.Byte(0);
  }
  e.Bytes({0x3c, 0x81, 0x9e});  // cmp al, -127, which overflows if al is 1; sahf
  e.Mark(kBoth);
  e.Unspill(kRcx);
  e.Mark(kRaxSpilled);
  e.Unspill(kRax);
  e.Mark();
}

bool EmitRedirected(Context* c, const Instruction& i) noexcept {
  const Redirection& redirection = *CurrentTranslation().redirection;
  const std::vector<RedirectedOperand>& operands = redirection.operands;
  const auto found = std::lower_bound(
      operands.begin(), operands.end(), i.address,
      [](const RedirectedOperand& o, std::uint64_t address) { return o.instruction < address; });
  const bool listed = found != operands.end() && found->instruction == i.address;
  // Another instruction may have taken the place of the recorded one.
  const ZydisDecodedOperand* memory = OperandOf(i);
  const bool redirected = listed && memory != nullptr && CanReplace(i, *memory);
  if (redirection.placeholders && !IsPrefetch(i) && WritesOnlyVectors(i) &&
      (redirected || (!i.reads && !i.writes && OnlyComputesValues(i)))) {
    EmitPlaceholder(c, i);
    return true;
  }
  if (!redirected) return false;
  const auto* from = PointerTo<const std::uint8_t>(i.address);
  const std::size_t modrm = i.raw.raw.modrm.offset;
  const std::size_t sib = (from[modrm] & 7) == 4 ? 1 : 0;
  const std::size_t rest = modrm + 1 + sib + i.raw.raw.disp.size / 8;
  const std::size_t tail = i.raw.length - rest;
  const std::size_t length = modrm + 5 + tail;
  std::uint8_t copy[ZYDIS_MAX_INSTRUCTION_LENGTH + 4];
  std::memcpy(copy, from, modrm);
  MakeOrdinary(copy + modrm - 1, i);
  copy[modrm] = static_cast<std::uint8_t>((from[modrm] & 0x38) | 0x05);  // [rip + disp32]
  const auto near = static_cast<std::int32_t>(c->area->lines + found->place - c->code -
                                              static_cast<std::ptrdiff_t>(length));
  std::memcpy(copy + modrm + 1, &near, 4);
  std::memcpy(copy + modrm + 5, from + rest, tail);
  Emitter e(c);
  e.Copy(copy, length);
  c->mark.address = i.end();
  e.Mark();
  return true;
}

void PrepareArea(Context* c) noexcept {
  c->operands.count = 0;
  const Translation& translation = CurrentTranslation();
  if (translation.redirection == nullptr) return;
  const std::vector<std::uint8_t>& lines = translation.redirection->lines;
  std::copy_n(lines.begin(), std::min(lines.size(), sizeof c->area->lines), c->area->lines);
}

}  // namespace topdnn

#endif  // __x86_64__
