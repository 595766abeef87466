// Translates: copies instructions verbatim into the cache, relocates what depends on their place,
// counts each block once and chains it to its successors.

#if defined(__x86_64__)

#include <cstring>
#include <initializer_list>

#include "harness/exact/context.h"

namespace topdnn {

namespace {

enum Register { kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi };

// Appends to the cache.
class Emitter {
 public:
  explicit Emitter(Context* context) : c_(context) {}

  void Byte(int b) { *Writable(c_->code++) = static_cast<std::uint8_t>(b); }
  void Bytes(std::initializer_list<int> bytes) {
    for (const int b : bytes) Byte(b);
  }
  void Copy(const void* from, std::size_t n) {
    std::memcpy(Writable(c_->code), from, n);
    c_->code += n;
  }
  void U32(std::uint32_t v) { Copy(&v, 4); }
  void U64(std::uint64_t v) { Copy(&v, 8); }
  // The displacement of `target` from the end of the instruction, `after` bytes further on.
  void Displacement(const void* target, int after = 0) {
    U32(static_cast<std::uint32_t>(static_cast<const std::uint8_t*>(target) - c_->code - 4 -
                                   after));
  }
  void Store(const void* slot, int r) { RegisterAndSlot(0x89, slot, r); }
  void Load(int r, const void* slot) { RegisterAndSlot(0x8b, slot, r); }
  void Constant(int r, std::uint64_t v) {
    Bytes({0x48, 0xb8 + r});
    U64(v);
  }
  void Jump(const void* code) {
    Byte(0xe9);
    Displacement(code);
  }
  // counter += 1; the flags may be lost only where `flags_dead`.
  void Count(std::uint32_t counter, bool flags_dead) {
    const void* slot = &c_->counters[counter];
    if (flags_dead) {
      Bytes({0x48, 0x83, 0x05});  // add qword [slot], 1
      Displacement(slot, 1);
      Byte(1);
      return;
    }
    Store(&c_->spill[0], kRax);
    Load(kRax, slot);
    Bytes({0x48, 0x8d, 0x40, 1});  // lea rax, [rax + 1]
    Store(slot, kRax);
    Load(kRax, &c_->spill[0]);
  }
  // counter += rcx, or -= rcx.
  void CountRcx(std::uint32_t counter, bool minus) {
    const void* slot = &c_->counters[counter];
    Store(&c_->spill[0], kRax);
    Load(kRax, slot);
    if (minus) Bytes({0x48, 0xf7, 0xd1});            // not rcx
    Bytes({0x48, 0x8d, 0x44, 0x08, minus ? 1 : 0});  // lea rax, [rax + rcx (+ 1)]
    if (minus) Bytes({0x48, 0xf7, 0xd1});
    Store(slot, kRax);
    Load(kRax, &c_->spill[0]);
  }
  // Leaves for the dispatcher.
  std::uint32_t Leave(Exit exit) {
    const std::uint32_t id = c_->exit_count++;
    c_->exits[id] = exit;
    Bytes({0x48, 0xc7, 0x05});  // mov qword [exit], id
    Displacement(&c_->exit, 4);
    U32(id);
    Jump(c_->slow_stub);
    return id;
  }
  std::uint8_t* Writable(const std::uint8_t* code) const {
    return const_cast<std::uint8_t*>(code) + c_->alias;
  }

 private:
  void RegisterAndSlot(int opcode, const void* slot, int r) {
    Bytes({0x48, opcode, 0x05 | r << 3});
    Displacement(slot);
  }

  Context* c_;
};

// A register's number if the instruction may use it, in any width.
bool Uses(const Instruction& i, int r) {
  for (int k = 0; k < i.raw.operand_count; ++k) {
    const auto& o = i.operands[k];
    for (const ZydisRegister name :
         {o.type == ZYDIS_OPERAND_TYPE_REGISTER ? o.reg.value : ZYDIS_REGISTER_NONE,
          o.type == ZYDIS_OPERAND_TYPE_MEMORY ? o.mem.base : ZYDIS_REGISTER_NONE,
          o.type == ZYDIS_OPERAND_TYPE_MEMORY ? o.mem.index : ZYDIS_REGISTER_NONE}) {
      const ZydisRegister whole =
          ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
      if (whole == ZYDIS_REGISTER_RAX + r) return true;
    }
  }
  return false;
}

// Copies a verbatim instruction; a RIP-relative operand keeps its address: a new displacement, or
// where that is out of reach the address in a register the instruction does not use.
void CopyInstruction(Context* c, const Instruction& i) {
  Emitter e(c);
  const auto* from = PointerTo<const std::uint8_t>(i.address);
  if (!i.rip_relative) {
    e.Copy(from, i.raw.length);
    return;
  }
  const std::size_t at = i.raw.raw.disp.offset;
  const auto distance = static_cast<std::int64_t>(
      i.rip_target - reinterpret_cast<std::uint64_t>(c->code) - i.raw.length);
  if (distance == static_cast<std::int32_t>(distance)) {
    const auto displacement = static_cast<std::int32_t>(distance);
    e.Copy(from, at);
    e.Copy(&displacement, 4);
    e.Copy(from + at + 4, i.raw.length - at - 4);
    return;
  }
  int r = kRbx;
  for (const int candidate : {kRbx, kRsi, kRdi, kRdx, kRcx, kRax, kRbp}) {
    r = candidate;
    if (!Uses(i, r)) break;
  }
  e.Store(&c->spill[3], r);
  e.Constant(r, i.rip_target);
  std::uint8_t copy[ZYDIS_MAX_INSTRUCTION_LENGTH];
  std::memcpy(copy, from, i.raw.length);
  auto& modrm = copy[i.raw.raw.modrm.offset];
  modrm = static_cast<std::uint8_t>(0x80 | (modrm & 0x38) | r);  // [r + disp32]
  std::memset(copy + at, 0, 4);
  // The base register's high bit, ignored so far, must say "low eight".
  if ((i.raw.attributes & ZYDIS_ATTRIB_HAS_REX) != 0) copy[i.raw.raw.rex.offset] &= 0xfe;
  if ((i.raw.attributes & ZYDIS_ATTRIB_HAS_EVEX) != 0) copy[i.raw.raw.evex.offset + 1] |= 0x20;
  if ((i.raw.attributes & ZYDIS_ATTRIB_HAS_XOP) != 0) copy[i.raw.raw.xop.offset + 1] |= 0x20;
  if ((i.raw.attributes & ZYDIS_ATTRIB_HAS_VEX) != 0 && i.raw.raw.vex.size == 3) {
    copy[i.raw.raw.vex.offset + 1] |= 0x20;
  }
  e.Copy(copy, i.raw.length);
  e.Load(r, &c->spill[3]);
}

// rcx = the target of an indirect branch whose operand is a register or memory.
void LoadBranchOperand(Context* c, const Instruction& i) {
  Emitter e(c);
  const auto* from = PointerTo<const std::uint8_t>(i.address);
  if (i.rip_relative) {
    e.Constant(kRcx, i.rip_target);
    e.Bytes({0x48, 0x8b, 0x09});  // mov rcx, [rcx]
    return;
  }
  // FF /2, FF /4 becomes REX.W 8B /r with rcx; segment prefixes stay, others have no meaning.
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
  e.Bytes({0xff, 0x35, 2, 0, 0, 0, 0xeb, 8});  // push [rip + 2]; jmp over the constant
  e.U64(address);
}

// Goes to the code for the address in rcx; rax and rcx are spilled, the flags are the program's.
void EmitLookup(Context* c) {
  Emitter e(c);
  e.Store(&c->spill[2], kRdx);
  e.Store(&c->branch_target, kRcx);
  e.Bytes({0x0f, 0xb7, 0xc1});  // movzx eax, cx
  e.Bytes({0x48, 0x8d, 0x15});  // lea rdx, [lookup]
  e.Displacement(c->lookup);
  e.Bytes({0x48, 0x8d, 0x04, 0x85, 0, 0, 0, 0});  // lea rax, [rax * 4]
  e.Bytes({0x48, 0x8d, 0x14, 0xc2});              // lea rdx, [rdx + rax * 8]
  e.Bytes({0x48, 0x8b, 0x02});                    // mov rax, [rdx]
  e.Bytes({0x48, 0x8d, 0x0c, 0x01});              // lea rcx, [rcx + rax]
  e.Bytes({0xe3, 5});                             // jrcxz over the jump
  e.Jump(c->lookup_miss);
  e.Bytes({0x48, 0x8b, 0x4a, 8});  // mov rcx, [rdx + 8]
  e.Store(&c->jump_to, kRcx);
  e.Load(kRax, &c->spill[0]);
  e.Load(kRcx, &c->spill[1]);
  e.Load(kRdx, &c->spill[2]);
  e.Bytes({0xff, 0x25});  // jmp [jump_to]
  e.Displacement(&c->jump_to);
}

// Branches whose stubs come after the straight line of code.
struct Pending {
  const std::uint8_t* field;
  std::uint64_t target;
  std::uint32_t counter;  // counts this edge; kNone
};

struct Line {  // blocks laid out one after the other
  Pending pending[2 * 64];
  int pending_count = 0;
  int blocks = 0;
};

std::uint32_t Hash(std::uint64_t address) {
  return static_cast<std::uint32_t>((address * 0x9e3779b97f4a7c15U) >> 45);  // 19 bits
}

const Block* Find(const Context* c, std::uint64_t address) {
  for (std::uint32_t h = Hash(address);; ++h) {
    const std::uint32_t b = c->block_of[h & (2 * kMaxBlocks - 1)];
    if (b == 0) return nullptr;
    if (c->blocks[b - 1].start == address && c->blocks[b - 1].code != nullptr)
      return &c->blocks[b - 1];
  }
}

// A jump (opcode already out) whose 4-byte displacement goes to `target`.
void EmitField(Context* c, Line* line, std::uint64_t target, std::uint32_t counter) {
  line->pending[line->pending_count++] = {c->code, target, counter};
  Emitter(c).U32(0);
}

void SetField(Context* c, const std::uint8_t* field, const std::uint8_t* code) {
  const auto displacement = static_cast<std::int32_t>(code - field - 4);
  std::memcpy(Emitter(c).Writable(field), &displacement, 4);
}

void EmitPending(Context* c, const Line& line) {
  Emitter e(c);
  for (int k = 0; k < line.pending_count; ++k) {
    const Pending& p = line.pending[k];
    const Block* known = IsSpecial(p.target) ? nullptr : Find(c, p.target);
    const std::uint8_t* field = p.field;
    if (p.counter != kNone) {
      SetField(c, field, c->code);
      e.Count(p.counter, false);
      e.Byte(0xe9);
      field = c->code;
      e.U32(0);
    }
    SetField(c, field, known != nullptr ? known->code : c->code);
    if (known == nullptr) e.Leave({Exit::kLink, p.target, field, nullptr});
  }
}

Site& AddSite(Context* c, Site::Kind kind, const Instruction& i, const Block& block, bool counts) {
  Site& site = c->sites[c->site_count++];
  site = {};
  site.kind = kind;
  site.address = i.address;
  site.block = block.counter;
  site.counter = counts ? c->counter_count++ : kNone;
  return site;
}

// Emits a block's last instruction; the address that may follow in line, or 0.
std::uint64_t EmitEnd(Context* c, Line* line, const Instruction& i, const Block& block) {
  Emitter e(c);
  switch (i.flow) {
    case Flow::kConditional: {
      // The edge that is rarely taken carries the counter: out of a loop, or over a detour.
      const bool backward = i.target <= i.address;
      const std::uint32_t edge =
          AddSite(c, backward ? Site::kBranchNotTaken : Site::kBranchTaken, i, block, true).counter;
      const bool short_only = i.raw.raw.modrm.offset == 0 && (i.raw.opcode & 0xfc) == 0xe0;
      if (short_only) {  // loop, jrcxz
        const auto* from = PointerTo<const std::uint8_t>(i.address);
        e.Copy(from, i.raw.length - 1U);
        e.Bytes({2, 0xeb, 5, 0xe9});  // over "jmp next", onto the jump
      } else {
        e.Bytes({0x0f, 0x80 | (i.raw.opcode & 15)});
      }
      EmitField(c, line, i.target, backward ? kNone : edge);
      if (backward) e.Count(edge, false);
      return i.end();
    }
    case Flow::kJump:
      return i.target;
    case Flow::kCall:
      PushReturnAddress(c, i.end());
      return i.target;
    case Flow::kIndirectJump:
    case Flow::kIndirectCall:
      e.Store(&c->spill[0], kRax);
      e.Store(&c->spill[1], kRcx);
      LoadBranchOperand(c, i);
      if (i.flow == Flow::kIndirectCall) PushReturnAddress(c, i.end());
      EmitLookup(c);
      return 0;
    case Flow::kReturn:
      e.Store(&c->spill[0], kRax);
      e.Store(&c->spill[1], kRcx);
      e.Byte(0x59);  // pop rcx
      if (i.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        e.Bytes({0x48, 0x8d, 0xa4, 0x24});  // lea rsp, [rsp + n]
        e.U32(static_cast<std::uint32_t>(i.operands[0].imm.value.u));
      }
      EmitLookup(c);
      return 0;
    case Flow::kSystemCall: {
      const std::uint32_t id = e.Leave({Exit::kSystemCall, i.end(), nullptr, nullptr});
      c->exits[id].resume = EmitSystemCall(c, i.end(), false);
      return 0;
    }
    case Flow::kTileConfiguration: {
      const std::uint32_t id = e.Leave({Exit::kTile, i.end(), nullptr, nullptr});
      c->exits[id].resume = c->code;
      CopyInstruction(c, i);
      return i.end();
    }
    default:
      return i.end();  // cut for length
  }
}

// Decodes a block; how many instructions. `limit`: 0, or where a block that may never run ends.
std::size_t DecodeBlock(Context* c, std::uint64_t address, std::uint64_t limit) {
  std::size_t n = 0;
  while (n < kMaxBlockInstructions) {
    if (limit != 0 && address + ZYDIS_MAX_INSTRUCTION_LENGTH > limit) break;
    Instruction& i = c->decoded[n];
    Decode(address, &i);
    if (i.flow == Flow::kUnknown) break;
    ++n;
    address = i.end();
    if (i.flow != Flow::kNext || IsSpecial(address)) break;
  }
  return n;
}

// Translates the block at `address` to the end of the cache; false when it cannot be decoded.
bool EmitBlock(Context* c, Line* line, std::uint64_t address, std::uint64_t limit,
               std::uint64_t* next, bool* speculative) {
  const std::size_t n = DecodeBlock(c, address, limit);
  if (n == 0) return false;
  const std::uint32_t index = c->block_count++;
  Block& block = c->blocks[index];
  std::uint32_t place = Hash(address) & (2 * kMaxBlocks - 1);
  while (c->block_of[place] != 0) place = (place + 1) & (2 * kMaxBlocks - 1);
  c->block_of[place] = index + 1;
  block = {address, c->decoded[n - 1].end(), c->code, c->counter_count++, place, {}};
  if (!GuardWritablePages(block.start, block.end)) {
    Miss(c, "more writable code than can be watched", block.start);
  }
  std::size_t dead = 0;  // an instruction before which the flags are dead
  while (dead < n && !c->decoded[dead].overwrites_flags) ++dead;
  Emitter e(c);
  if (dead == n) e.Count(block.counter, false);
  for (std::size_t k = 0; k < n; ++k) {
    const Instruction& i = c->decoded[k];
    Classify(i, &block.content);
    if (k == dead) e.Count(block.counter, true);
    if (i.flow != Flow::kNext) break;
    if (i.rep_load + i.rep_store != 0) {
      Site& site = AddSite(c, Site::kRep, i, block, true);
      site.load = i.rep_load;
      site.store = i.rep_store;
      e.CountRcx(site.counter, false);
      CopyInstruction(c, i);
      e.CountRcx(site.counter, true);
      continue;
    }
    if (IsTileWork(i)) {
      Site& site = AddSite(c, Site::kTile, i, block, false);
      site.mnemonic = i.raw.mnemonic;
      int tiles = 0;
      for (int o = 0; o < i.raw.operand_count; ++o) {
        if (i.operands[o].type != ZYDIS_OPERAND_TYPE_REGISTER || tiles == 2) continue;
        const auto id = static_cast<std::uint8_t>(i.operands[o].reg.value - ZYDIS_REGISTER_TMM0);
        (tiles++ == 0 ? site.tile0 : site.tile1) = id & 7;
      }
    }
    CopyInstruction(c, i);
  }
  *speculative = c->decoded[n - 1].flow == Flow::kConditional;
  *next = EmitEnd(c, line, c->decoded[n - 1], block);
  return true;
}

}  // namespace

void EmitFixedCode(Context* c) noexcept {
  Emitter e(c);
  c->slow_stub = c->code;
  e.Store(&c->spill[0], kRax);
  e.Bytes({0x48, 0x8d, 0x05});  // lea rax, [context]
  e.Displacement(c);
  e.Bytes({0xff, 0x25});  // jmp [slow_path]
  e.Displacement(&c->slow_path);
  // The second way, then the dispatcher.
  c->lookup_miss = c->code;
  e.Load(kRcx, &c->branch_target);
  e.Bytes({0x48, 0x8b, 0x42, 16});    // mov rax, [rdx + 16]
  e.Bytes({0x48, 0x8d, 0x0c, 0x01});  // lea rcx, [rcx + rax]
  e.Bytes({0x48, 0x8b, 0x42, 24});    // mov rax, [rdx + 24]
  e.Store(&c->jump_to, kRax);
  e.Load(kRax, &c->spill[0]);
  e.Load(kRdx, &c->spill[2]);
  e.Bytes({0xe3, 2 + 7 + 11 + 5 - 2});  // jrcxz over the departure
  e.Load(kRcx, &c->spill[1]);
  e.Leave({Exit::kIndirect, 0, nullptr, nullptr});
  e.Load(kRcx, &c->spill[1]);
  e.Bytes({0xff, 0x25});
  e.Displacement(&c->jump_to);
}

const std::uint8_t* EmitSystemCall(Context* c, std::uint64_t next, bool starts_child) noexcept {
  Emitter e(c);
  const std::uint8_t* begin = c->code;
  e.Bytes({0x0f, 0x05});
  if (starts_child) {
    e.Bytes({0x48, 0x89, 0xc1, 0xe3, 2, 0xeb, 24});  // mov rcx, rax; jrcxz child; jmp parent
    e.Constant(kRcx, next);
    e.Bytes({0xff, 0x25, 0, 0, 0, 0});  // jmp [rip]: the child runs natively
    e.U64(next);
  }
  e.Constant(kRcx, next);  // as the kernel leaves it
  e.Byte(0xe9);
  const std::uint8_t* field = c->code;
  e.U32(0);
  e.Leave({Exit::kLink, next, field, nullptr});
  return begin;
}

void PatchLink(Context* c, const Exit& exit, const std::uint8_t* code) noexcept {
  SetField(c, exit.field, code);
}

void DropBlocks(Context* c, std::uint64_t low, std::uint64_t high, std::uint64_t running) noexcept {
  for (std::uint32_t k = 0; k < c->block_count; ++k) {
    Block& b = c->blocks[k];
    if (b.code == nullptr || b.start >= high || b.end <= low) continue;
    const auto code = reinterpret_cast<std::uint64_t>(b.code);
    if (running > code && running < code + 5) {
      Miss(c, "code overwrote the block it was running in", b.start);
      continue;
    }
    const std::uint8_t* stub = c->code;
    Emitter e(c);
    e.Leave({Exit::kLink, b.start, b.code + 1, nullptr});
    *e.Writable(b.code) = 0xe9;
    SetField(c, b.code + 1, stub);
    b.code = nullptr;  // counted still, found no more
  }
}

const std::uint8_t* CodeFor(Context* c, std::uint64_t address) noexcept {
  if (const Block* known = Find(c, address)) return known->code;
  const std::uint64_t room = 64 * kMaxBlockInstructions;  // a line never needs more of anything
  if (c->code + 64 * 48 * 64 > c->code_begin + kCodeBytes || c->block_count + room > kMaxBlocks ||
      c->exit_count + room > kMaxExits || c->site_count + room > kMaxBranches ||
      c->counter_count + room > kMaxExits) {
    if (c->nested > 0) return nullptr;  // (a flush would not make room)
    Flush(c);
  }
  const std::uint8_t* code = c->code;
  Line line;
  std::uint64_t next = address;
  std::uint64_t limit = 0;
  while (next != 0) {
    const std::uint64_t here = next;
    bool speculative = false;
    const bool in_line =
        line.blocks == 0 || (line.blocks < 32 && !IsSpecial(here) && Find(c, here) == nullptr);
    if (!in_line || !EmitBlock(c, &line, here, limit, &next, &speculative)) {
      if (line.blocks == 0) return nullptr;
      Emitter(c).Byte(0xe9);
      EmitField(c, &line, here, kNone);
      break;
    }
    ++line.blocks;
    const std::uint64_t here_end = c->blocks[c->block_count - 1].end;
    // Code after a branch may never run, and may not even be code: it is not looked for on pages
    // that are not known to exist.
    if (speculative && limit == 0) limit = ((here_end - 1) | 4095) + 1;
  }
  EmitPending(c, line);
  return code;
}

}  // namespace topdnn

#endif  // __x86_64__
