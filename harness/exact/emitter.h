// Appends machine code to a context's cache: the instructions that the translator adds. They
// preserve the flags unless a comment says otherwise.

#ifndef TOPDNN_HARNESS_EXACT_EMITTER_H_
#define TOPDNN_HARNESS_EXACT_EMITTER_H_

#include <cstring>
#include <initializer_list>

#include "harness/exact/context.h"

namespace topdnn {

// Numbers as in instruction encodings.
enum Register { kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi, kR8, kR9, kR10, kR11 };

inline constexpr int kRaxSpilled = 1 << kRax;
inline constexpr int kRcxSpilled = 1 << kRcx;
inline constexpr int kRdxSpilled = 1 << kRdx;
inline constexpr int kFlagsInRax = 1 << 3;  // as by lahf and seto al

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
  // The displacement of `target` from the end of the instruction, which is `after` bytes further
  // on.
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
  void JumpThrough(const void* slot) {
    Bytes({0xff, 0x25});
    Displacement(slot);
  }
  // Adds the context's mark for the code that follows, with these registers spilled.
  void Mark(int spilled = 0) {
    c_->mark.code = static_cast<std::uint32_t>(c_->code - c_->code_begin);
    c_->mark.spilled = static_cast<std::uint8_t>(spilled);
    c_->marks.Add(c_->mark);
  }
  void Spill(int r) { Store(&c_->spill[r], r); }
  void Unspill(int r) { Load(r, &c_->spill[r]); }
  // Spills rax, rcx and rdx, with a mark after each.
  void SpillAll() {
    int spilled = 0;
    for (const int r : {kRax, kRcx, kRdx}) {
      Spill(r);
      Mark(spilled |= 1 << r);
    }
  }
  void UnspillAll() {
    for (const int r : {kRax, kRcx, kRdx}) Unspill(r);
    Mark();
  }
  void Increment(int r) { Bytes({0x48 | (r >> 3) * 5, 0x8d, 0x40 | (r & 7) * 9, 1}); }  // lea
  // slot += 1, by way of r.
  void AddOne(const void* slot, int r) {
    Load(r, slot);
    Increment(r);
    Store(slot, r);
  }
  // Changes the sign of r, one of the first eight.
  void Negate(int r) {
    Bytes({0x48, 0xf7, 0xd0 | r});  // not r
    Increment(r);
  }
  // counter += 1. `dead`: what may be overwritten here: kFlags, a register, or kNothing.
  void Count(std::uint32_t counter, int dead) {
    const void* slot = &c_->counters.items[counter];
    if (dead == kFlags) {
      Bytes({0x48, 0x83, 0x05});  // add qword [slot], 1
      Displacement(slot, 1);
      Byte(1);
    } else {
      const int r = dead == kNothing ? kRax : dead;
      if (dead == kNothing) {
        Spill(r);
        Mark(kRaxSpilled);
      }
      AddOne(slot, r);
    }
    c_->mark.counted = true;
    if (dead == kNothing) {
      Mark(kRaxSpilled);
      Unspill(kRax);
    }
    Mark();
  }
  // counter += rcx. `rep`: value of Mark::rep afterwards.
  void CountRcx(std::uint32_t counter, std::uint32_t rep) {
    Spill(kRax);
    Mark(kRaxSpilled);
    Load(kRax, &c_->counters.items[counter]);
    Bytes({0x48, 0x8d, 0x04, 0x08});  // lea rax, [rax + rcx]
    Store(&c_->counters.items[counter], kRax);
    c_->mark.rep = rep;
    Mark(kRaxSpilled);
    Unspill(kRax);
    Mark();
  }
  // Jumps to the dispatcher. After a system call or a tile configuration, execution continues at
  // the code that follows; for other exits, `field` is the field to patch.
  void Leave(Exit::Kind kind, std::uint64_t target, const std::uint8_t* field = nullptr) {
    Bytes({0x48, 0xc7, 0x05});  // mov qword [exit], number
    Displacement(&c_->exit, 4);
    U32(c_->exits.count);
    Jump(c_->slow_stub);
    const bool resumes = kind == Exit::kSystemCall || kind == Exit::kTile;
    c_->exits.Add({kind, target, resumes ? c_->code : field});
  }
  std::uint8_t* Writable(const std::uint8_t* code) const {
    return const_cast<std::uint8_t*>(code) + c_->alias;
  }
  // Sets the displacement at `field` so that its jump goes to `code`.
  void SetField(const std::uint8_t* field, const std::uint8_t* code) const {
    const auto displacement = static_cast<std::int32_t>(code - field - 4);
    std::memcpy(Writable(field), &displacement, 4);
  }

 private:
  void RegisterAndSlot(int opcode, const void* slot, int r) {
    Bytes({0x48 | r >> 3 << 2, opcode, 0x05 | (r & 7) << 3});
    Displacement(slot);
  }

  Context* c_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_EMITTER_H_
