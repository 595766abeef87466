// Translates code: copies instructions unchanged into the cache, relocates those that depend on
// their address, counts each block once and links it to its successors.
//
// Blocks are laid out in lines: each block is followed by the one that it jumps or falls through
// to. A line has its own copy of the block after a conditional branch. The count of that copy is
// the number of times the branch was not taken, so no edge needs a counter.

#if defined(__x86_64__)

#include <algorithm>
#include <cstring>
#include <utility>

#include "harness/exact/context.h"
#include "harness/exact/emitter.h"
#include "harness/exact/instructions/restartable.h"
#include "harness/exact/mappings.h"
#include "harness/exact/threads.h"

namespace topdnn {

namespace {

constexpr std::uint32_t kPlaces = 2 * kMaxItems;  // size of the hash table, 2^20
constexpr std::uint32_t kMaxStale = 256;

// Copies an instruction. A RIP-relative operand keeps its address: it gets a new displacement or,
// if that is out of reach, a register that the instruction does not use.
void CopyInstruction(Context* c, const Instruction& i) {
  Emitter e(c);
  std::uint8_t copy[ZYDIS_MAX_INSTRUCTION_LENGTH];
  std::memcpy(copy, PointerTo<const void>(i.address), i.raw.length);
  const auto distance = static_cast<std::int64_t>(i.target - AddressOf(c->code) - i.raw.length);
  const auto near = static_cast<std::int32_t>(distance);
  const bool far = i.rip_relative && distance != near;
  int r = kRax;
  if (i.rip_relative) std::memcpy(copy + i.raw.raw.disp.offset, &near, 4);
  if (far) {
    const std::uint32_t used = RegistersIn(i, 0) | 1U << kRsp;
    while ((used >> r & 1) != 0) ++r;  // no instruction names all of the low eight
    e.Store(&c->spill[3], r);
    c->mark.far = static_cast<std::uint8_t>(r + 1);
    e.Mark();
    e.Constant(r, i.target);
    auto& modrm = copy[i.raw.raw.modrm.offset];
    modrm = static_cast<std::uint8_t>(0x80 | (modrm & 0x38) | r);  // [r + disp32]
    std::memset(copy + i.raw.raw.disp.offset, 0, 4);
    // RIP-relative addressing ignores the base register's high bit. Now this bit must select the
    // low eight registers.
    const auto has = [&](std::uint64_t attribute) { return (i.raw.attributes & attribute) != 0; };
    if (has(ZYDIS_ATTRIB_HAS_REX)) copy[i.raw.raw.rex.offset] &= 0xfe;
    if (has(ZYDIS_ATTRIB_HAS_EVEX)) copy[i.raw.raw.evex.offset + 1] |= 0x20;
    if (has(ZYDIS_ATTRIB_HAS_XOP)) copy[i.raw.raw.xop.offset + 1] |= 0x20;
    const bool vex3 = has(ZYDIS_ATTRIB_HAS_VEX) && i.raw.raw.vex.size == 3;
    if (vex3) copy[i.raw.raw.vex.offset + 1] |= 0x20;
  }
  e.Copy(copy, i.raw.length);
  c->mark.address = i.end();
  if (far) {
    e.Mark();
    e.Load(r, &c->spill[3]);
    c->mark.far = 0;
  }
  e.Mark();
}

// Loads rcx with the target of an indirect branch whose operand is a register or memory.
void LoadBranchOperand(Context* c, const Instruction& i) {
  Emitter e(c);
  const auto* from = PointerTo<const std::uint8_t>(i.address);
  if (i.rip_relative) {
    e.Constant(kRcx, i.target);
    e.Bytes({0x48, 0x8b, 0x09});  // mov rcx, [rcx]
    return;
  }
  // FF /2 and FF /4 become REX.W 8B /r with rcx. Segment prefixes stay; other prefixes have no
  // meaning.
  for (std::size_t k = 0; k + 1 < i.raw.raw.modrm.offset; ++k) {
    if (from[k] == 0x64 || from[k] == 0x65 || from[k] == 0x67) e.Byte(from[k]);
  }
  const bool rex = (i.raw.attributes & ZYDIS_ATTRIB_HAS_REX) != 0;
  e.Byte(0x48 | (rex ? from[i.raw.raw.rex.offset] & 3 : 0));
  const std::size_t modrm = i.raw.raw.modrm.offset;
  e.Bytes({0x8b, (from[modrm] & 0xc7) | kRcx << 3});
  e.Copy(from + modrm + 1, i.raw.length - modrm - 1);
}

void PushReturnAddress(Context* c, std::uint64_t address) {
  Emitter e(c);
  e.Bytes({0xff, 0x35});  // push [constant]
  e.Displacement(c->stubs);
  std::memcpy(e.Writable(c->stubs), &address, sizeof address);
  c->stubs += sizeof address;
}

// Offsets from an indirect branch's constant to the fields that Patch sets.
constexpr int kMissField = 8 + 4 + 2 + 1;
constexpr int kHitField = kMissField + 4 + 7 + 7 + 1;

// Emits an indirect branch: compares with the previous target, then uses the look-up. Counts the
// block if no earlier instruction could.
void EmitIndirect(Context* c, const Instruction& i, std::uint32_t counter) {
  Emitter e(c);
  // If a signal arrives meanwhile, LeaveBlock undoes the parts already executed.
  e.Spill(kRax);
  e.Mark(kRaxSpilled);
  if (counter != kNone && CurrentTranslation().counts) {
    e.Count(counter, kRax);
    e.Mark(kRaxSpilled);
    e.Unspill(kRax);
  }
  e.Spill(kRcx);
  e.Mark(kRaxSpilled | kRcxSpilled);
  if (i.flow == Flow::kReturn) {
    e.Byte(0x59);  // pop rcx
    c->mark.popped = 8;
    if (i.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
      e.Mark(kRaxSpilled | kRcxSpilled);
      e.Bytes({0x48, 0x8d, 0xa4, 0x24});  // lea rsp, [rsp + n]
      e.U32(static_cast<std::uint32_t>(i.operands[0].imm.value.u));
      c->mark.popped = static_cast<std::int16_t>(8 + i.operands[0].imm.value.u);
    }
  } else {
    LoadBranchOperand(c, i);
    if (i.flow == Flow::kIndirectCall) {
      PushReturnAddress(c, i.end());
      c->mark.popped = -8;
    }
  }
  e.Mark(kRaxSpilled | kRcxSpilled);
  e.Constant(kRax, 0);  // minus the previous target
  const std::uint8_t* field = c->code - 8;
  e.Bytes({0x48, 0x8d, 0x0c, 0x08});  // lea rcx, [rax + rcx]
  e.Bytes({0xe3, 5, 0xe9});           // jrcxz over the jump
  e.U32(7 + 7 + 5);                   // to the exit below
  e.Unspill(kRax);
  e.Unspill(kRcx);
  e.Byte(0xe9);
  e.U32(0);
  e.Bytes({0x48, 0xf7, 0xd0});           // not rax
  e.Bytes({0x48, 0x8d, 0x4c, 0x01, 1});  // lea rcx, [rcx + rax + 1]: the target
  e.Store(&c->branch_target, kRcx);
  e.Unspill(kRax);
  e.Unspill(kRcx);
  e.Leave(Exit::kIndirect, i.end(), field);
}

std::uint32_t Hash(std::uint64_t address) {
  return static_cast<std::uint32_t>((address * 0x9e3779b97f4a7c15U) >> 44);
}

const Block* Find(const Context* c, std::uint64_t address) {
  for (std::uint32_t h = Hash(address);; ++h) {
    const std::uint32_t b = c->block_of[h % kPlaces];
    if (b == 0) return nullptr;
    const Block& block = c->blocks.items[b - 1];
    if (block.start == address && block.code != nullptr) return &block;
  }
}

// Emits the displacement of a jump (its opcode is already emitted) to the code of `target`, or to a
// stub.
void EmitField(Context* c, std::uint64_t target) {
  Emitter e(c);
  const std::uint8_t* field = c->code;
  const Block* known = IsSpecial(target) ? nullptr : Find(c, target);
  e.Displacement(known != nullptr ? known->code : c->stubs);
  if (known != nullptr) return;
  std::swap(c->code, c->stubs);
  e.Leave(Exit::kLink, target, field);
  std::swap(c->code, c->stubs);
}

// Emits a short branch to known code that is near, so that a timed loop stays short.
bool EmitShortBranch(Context* c, const Instruction& i) {
  if (CurrentTranslation().counts || IsSpecial(i.target)) return false;
  const Block* known = Find(c, i.target);
  if (known == nullptr) return false;
  const std::ptrdiff_t distance = known->code - c->code - 2;
  if (distance < -128 || distance > 127) return false;
  Emitter(c).Bytes({0x70 | (i.raw.opcode & 15), static_cast<int>(distance) & 0xff});
  return true;
}

Site* AddSite(Context* c, Site::Kind kind, const Instruction& i, const Block& block) {
  return &c->sites.Add({.kind = kind, .address = i.address, .block = block.counter});
}

// Emits a block's last instruction. Returns the address that may follow in line, or 0.
std::uint64_t EmitEnd(Context* c, const Instruction& i, std::uint32_t counter) {
  Emitter e(c);
  switch (i.flow) {
    case Flow::kConditional:
      if (i.raw.raw.modrm.offset == 0 && (i.raw.opcode & 0xfc) == 0xe0) {  // loop, jrcxz
        const Mark own = c->mark;
        e.Copy(PointerTo<const std::uint8_t>(i.address), i.raw.length - 1U);
        e.Byte(2);  // jumps over "jmp next"
        c->mark = {.code = 0, .address = i.end(), .branch = c->sites.count};
        e.Mark();
        e.Bytes({0xeb, 5});
        c->mark = own;
        c->mark.address = i.target;
        c->mark.whole = true;
        e.Mark();
        e.Byte(0xe9);
      } else if (EmitShortBranch(c, i)) {
        return i.end();
      } else {
        e.Bytes({0x0f, 0x80 | (i.raw.opcode & 15)});
      }
      EmitField(c, i.target);
      return i.end();
    case Flow::kCall:
      PushReturnAddress(c, i.end());
      [[fallthrough]];
    case Flow::kJump:
      c->mark.address = i.target;
      c->mark.whole = true;
      e.Mark();
      return i.target;
    case Flow::kIndirectJump:
    case Flow::kIndirectCall:
    case Flow::kReturn:
      EmitIndirect(c, i, counter);
      return 0;
    case Flow::kSystemCall:
      e.Leave(Exit::kSystemCall, i.end());
      EmitSystemCall(c, i.end(), ChildOf::kNoCall);
      return 0;
    case Flow::kTileConfiguration:
      e.Leave(Exit::kTile, i.address);
      CopyInstruction(c, i);
      return i.end();
    default:
      return i.end();  // the block reached its maximum length
  }
}

// Decodes a block and returns its number of instructions. `limit`: where a block that may never run
// must end, or 0. A block that checks its own code ends after a write to memory, which may change
// that code.
std::size_t DecodeBlock(Context* c, std::uint64_t address, std::uint64_t limit, CodeKind kind) {
  std::size_t n = 0;
  while (n < kMaxBlockInstructions) {
    if (limit != 0 && address + ZYDIS_MAX_INSTRUCTION_LENGTH > limit) break;
    Instruction& i = c->decoded[n];
    Decode(address, &i);
    if (i.flow == Flow::kUnknown || NamesRestartable(i)) break;
    ++n;
    address = i.end();
    if (i.flow != Flow::kNext || IsSpecial(address)) break;
    if (i.writes && kind == CodeKind::kChangeable) break;
  }
  return n;
}

// The kind of a block at `address`; its last bytes may lie in the next mapping.
CodeKind KindOfBlock(std::uint64_t address) {
  std::uint64_t end = 0;
  const CodeKind kind = KindOfCode(address, &end);
  if (kind != CodeKind::kFixed || address + kMaxBlockBytes <= end) return kind;
  return std::max(kind, KindOfCode(end, &end));
}

// The instruction before which counting is cheapest: where the flags are dead, or else a register.
// `n`: none.
std::size_t PlaceOfCount(const Context* c, std::size_t n) {
  const auto dead = [](int what) {
    return [=](const Instruction& i) { return i.overwrites == what; };
  };
  const Instruction* end = c->decoded + n;
  const Instruction* place = std::find_if(c->decoded, end, dead(kFlags));
  if (place == end) place = std::find_if_not(c->decoded, end, dead(kNothing));
  return static_cast<std::size_t>(place - c->decoded);
}

// Emits an instruction; `rep` and tile instructions also get a site.
void EmitCounted(Context* c, const Instruction& i, const Block& block) {
  Emitter e(c);
  const Translation& translation = CurrentTranslation();
  if (translation.records) EmitRecord(c, i, block.counter);
  if (translation.redirection != nullptr && EmitRedirected(c, i)) return;
  if (!translation.counts) {
    CopyInstruction(c, i);
    return;
  }
  if (i.rep) {
    Site* site = AddSite(c, Site::kRep, i, block);
    site->load = i.load;
    site->store = i.store;
    site->own = c->counters.count;
    c->counters.count += 2;
    e.CountRcx(site->own, site->own + 1);
    CopyInstruction(c, i);
    e.CountRcx(site->own + 1, 0);
    return;
  }
  if (i.tile) {
    Site* site = AddSite(c, Site::kTile, i, block);
    site->mnemonic = i.raw.mnemonic;
    int tiles = 0;
    for (int o = 0; o < i.raw.operand_count && tiles < 2; ++o) {
      if (i.operands[o].type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
      site->tiles[tiles++] = ZydisRegisterGetId(i.operands[o].reg.value) & 7;
    }
  }
  CopyInstruction(c, i);
}

// Emits a check at the block's entry that the code at `address` still equals `code`. If not, the
// block leaves for a new translation. Patch then changes the target of the block's first jump from
// the check to the new translation.
void EmitCheck(Context* c, const std::uint8_t* code, std::uint64_t address, std::size_t bytes) {
  Emitter e(c);
  const std::uint8_t* field = c->code + 1;
  e.Byte(0xe9);
  e.U32(0);
  const std::uint8_t* differs = c->code;
  e.Mark(kRaxSpilled | kRcxSpilled | kRdxSpilled);
  e.UnspillAll();
  e.Leave(Exit::kStale, address, field);
  e.SetField(field, c->code);
  e.SpillAll();
  e.Constant(kRax, address);
  for (std::size_t k = 0; k < bytes;) {
    std::size_t width = 8;
    while (width > bytes - k) width /= 2;
    std::uint64_t part = 0;
    std::memcpy(&part, code + k, width);
    e.Constant(kRdx, -part);
    if (width == 8) e.Byte(0x48);
    if (width < 4) e.Byte(0x0f);  // movzx
    e.Bytes({width == 1 ? 0xb6 : width == 2 ? 0xb7 : 0x8b, 0x88});
    e.U32(static_cast<std::uint32_t>(k));              // mov rcx, [rax + k]
    e.Bytes({0x48, 0x8d, 0x0c, 0x11, 0xe3, 5, 0xe9});  // lea rcx, [rcx + rdx]; jrcxz over the jump
    e.Displacement(differs);
    k += width;
  }
  e.UnspillAll();
}

// Translates the block at `*next` to the end of the cache and sets `*next` to the block that
// follows; false: it cannot be decoded. `*branch`: the conditional branch that falls through to the
// block, or null if the block may be entered from anywhere. On return: the conditional branch at
// the block's end, or null.
bool EmitBlock(Context* c, std::uint64_t limit, CodeKind kind, std::uint64_t* next, Site** branch) {
  std::uint8_t text[kMaxBlockBytes];  // the code, copied first: another thread may write to it
  std::uint64_t end = 0;
  if (kind == CodeKind::kChangeable) {
    KindOfCode(*next, &end);
    std::size_t known = std::min(kMaxBlockBytes, end - *next);
    if (KindOfCode(end, &end) != CodeKind::kNative) known = kMaxBlockBytes;
    std::memcpy(text, PointerTo<const void>(*next), known);
  }
  const std::size_t n = DecodeBlock(c, *next, limit, kind);
  if (n == 0) return false;
  const Instruction& last = c->decoded[n - 1];
  Block& block = c->blocks.Add({*next, last.end(), c->code, c->counters.count++, kNone, {}});
  if (*branch == nullptr) {
    block.place = Hash(*next);
    while (c->block_of[block.place] != 0) block.place = (block.place + 1) % kPlaces;
    c->block_of[block.place] = c->blocks.count;
  }
  Emitter e(c);
  c->mark = {
      .code = 0,
      .block = c->blocks.count - 1,
      .address = block.start,
      .branch = *branch == nullptr ? 0 : static_cast<std::uint32_t>(*branch - c->sites.items) + 1};
  e.Mark();
  if (*branch != nullptr) EmitRuns(c, *branch);
  const std::size_t bytes = block.end - block.start;
  if (kind == CodeKind::kChangeable) EmitCheck(c, text, block.start, bytes);
  const std::size_t place = PlaceOfCount(c, n);
  const bool indirect = last.flow >= Flow::kIndirectJump && last.flow <= Flow::kReturn;
  const bool counts = CurrentTranslation().counts;
  if (place == n && !indirect && counts) e.Count(block.counter, kNothing);
  for (std::size_t k = 0; k < n; ++k) {
    const Instruction& i = c->decoded[k];
    Classify(i, &block.content);
    if (k == place && counts) e.Count(block.counter, i.overwrites);
    if (i.flow == Flow::kNext) EmitCounted(c, i, block);
  }
  *branch = last.flow == Flow::kConditional ? AddSite(c, Site::kBranch, last, block) : nullptr;
  *next = EmitEnd(c, last, place == n ? block.counter : kNone);
  if (kind == CodeKind::kChangeable &&
      std::memcmp(text, PointerTo<const void>(block.start), bytes) != 0) {
    e.SetField(block.code + 1, block.code + 5);  // changed meanwhile: the check fails
  }
  return true;
}

}  // namespace

void EmitSystemCall(Context* c, std::uint64_t next, ChildOf child) noexcept {
  Emitter e(c);
  e.Bytes({0x0f, 0x05});
  if (child != ChildOf::kNoCall) {
    e.Bytes({0x48, 0x89, 0xc1, 0xe3, 2, 0xeb, 0});  // mov rcx, rax; jrcxz child; jmp parent
    const std::uint8_t* begin = c->code;
    if (child == ChildOf::kCallThatCopiesMemory) {
      e.Constant(kRcx, next);
      e.Leave(Exit::kChild, next);
    } else {
      e.Constant(kRcx, next);
      e.Bytes({0xff, 0x25, 0, 0, 0, 0});  // jmp [rip]: the child runs natively
      e.U64(next);
    }
    *e.Writable(begin - 1) = static_cast<std::uint8_t>(c->code - begin);
  }
  c->mark = {.code = 0, .address = next, .whole = true};
  e.Mark();
  e.Constant(kRcx, next);  // as after a system call
  e.Byte(0xe9);
  EmitField(c, next);
}

void Patch(Context* c, const Exit& exit, std::uint64_t target, const std::uint8_t* code) noexcept {
  const Emitter e(c);
  if (exit.kind != Exit::kIndirect) {
    e.SetField(exit.field, code);
    return;
  }
  e.SetField(exit.field + kMissField, c->lookup_code);
  if (code < c->code_begin || code >= c->code) return;  // the end of the region
  const std::uint64_t minus = -target;
  std::memcpy(e.Writable(exit.field), &minus, sizeof minus);
  e.SetField(exit.field + kHitField, code);
}

void DropBlock(Context* c, std::uint64_t address) noexcept {
  if (++c->stale % kMaxStale == 0) {  // old translations form a chain to new ones
    Flush(c);
    return;
  }
  for (std::uint32_t h = Hash(address); c->block_of[h % kPlaces] != 0; ++h) {
    Block& block = c->blocks.items[c->block_of[h % kPlaces] - 1];
    if (block.start == address) block.code = nullptr;  // still counted, but not found any more
  }
}

const std::uint8_t* CodeFor(Context* c, std::uint64_t address) noexcept {
  if (const Block* known = Find(c, address)) return known->code;
  // A line needs at most this many entries of each list.
  constexpr std::size_t kRoom = kMaxLine * kMaxBlockInstructions;
  const auto used = std::max({c->blocks.count, c->exits.count, c->sites.count, c->counters.count,
                              c->marks.count / static_cast<std::uint32_t>(kMarksPerItem)});
  if (c->code + kRoom * 64 > c->code_begin + kCodeBytes / 2 || used + 4 * kRoom > kMaxItems ||
      c->stubs + kRoom * 64 > c->code_begin + kCodeBytes) {
    Flush(c);
  }
  const CodeKind kind = KindOfBlock(address);
  if (kind == CodeKind::kNative) return nullptr;
  // What is timed keeps its place in a line of code: on some cores a short loop takes much longer
  // if it crosses into the next line.
  if (!CurrentTranslation().counts) c->code += (address - AddressOf(c->code)) % kLineBytes;
  const std::uint8_t* code = c->code;
  std::uint64_t next = address;
  std::uint64_t limit = 0;
  Site* branch = nullptr;
  for (int blocks = 0; next != 0; ++blocks) {
    if (branch != nullptr) branch->own = c->counters.count;  // the counter of the next block
    const bool in_line = blocks == 0 || (blocks < kMaxLine && !IsSpecial(next) &&
                                         kind == CodeKind::kFixed && KindOfBlock(next) == kind &&
                                         (branch != nullptr || Find(c, next) == nullptr));
    if (!in_line || !EmitBlock(c, limit, kind, &next, &branch)) {
      if (blocks == 0) return nullptr;
      if (branch != nullptr) {
        c->mark = {.code = 0,
                   .address = next,
                   .branch = static_cast<std::uint32_t>(branch - c->sites.items) + 1};
        Emitter(c).Mark();
        const std::uint32_t own = c->counters.count++;
        EmitRuns(c, branch);
        if (CurrentTranslation().counts) Emitter(c).Count(own, kNothing);
      }
      Emitter(c).Byte(0xe9);
      EmitField(c, next);
      break;
    }
    // Code after a branch may never run, and may not be code at all: its page may not exist.
    const std::uint64_t end = c->blocks.items[c->blocks.count - 1].end;
    if (branch != nullptr && limit == 0) limit = ((end - 1) | 4095) + 1;
  }
  return code;
}

}  // namespace topdnn

#endif  // __x86_64__
