// Seeded random instruction sequences, translated and stepped: the same count, and the same
// registers, flags and memory as a native run leaves.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"

#if defined(__x86_64__)

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tests/harness/exact_oracle.h"

namespace topdnn {
namespace {

constexpr std::size_t kCodeSize = 1U << 16;

// What a sequence works on; the code gets its address in rdi.
struct State {
  std::uint64_t registers[8];  // in the order of kRegisters
  std::uint64_t flags;
  std::uint64_t memory[16];
  alignas(16) float vectors[4][4];
};

// rax rcx rdx rbx rsi r8 r9 r10: never rsp, rbp (kept whole for the unwinder) or rdi.
constexpr int kRegisters[] = {0, 1, 2, 3, 6, 8, 9, 10};

class Generator {
 public:
  Generator(std::uint8_t* code, std::uint64_t seed) : code_(code), random_(seed) {}

  // Loads the state, does `n` random things, stores the state.
  void Generate(int n) {
    Bytes({0x53});  // push rbx
    for (int k = 0; k < 8; ++k) MoveState(0x8b, k);
    for (int v = 0; v < 4; ++v) MoveVector(0x28, v);
    Bytes({0x31, 0xc0});  // xor eax, eax: defined flags
    for (int k = 0; k < n; ++k) One();
    Bytes({0x9c, 0x8f, 0x47, offsetof(State, flags)});  // pushfq; pop [rdi + flags]
    for (int k = 0; k < 8; ++k) MoveState(0x89, k);
    for (int v = 0; v < 4; ++v) MoveVector(0x29, v);
    Bytes({0x5b, 0xc3});
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  int AnyRegister() { return kRegisters[Below(8)]; }
  void Bytes(std::initializer_list<int> bytes) {
    for (const int b : bytes) *code_++ = static_cast<std::uint8_t>(b);
  }
  void U32(std::uint32_t v) {
    std::memcpy(code_, &v, 4);
    code_ += 4;
  }
  void Rex(int wide, int reg, int rm) { Bytes({0x40 | wide << 3 | (reg >> 3) << 2 | rm >> 3}); }
  void ModRm(int mode, int reg, int rm) { Bytes({mode << 6 | (reg & 7) << 3 | (rm & 7)}); }

  void MoveState(int opcode, int k) {
    Rex(1, kRegisters[k], 7);
    Bytes({opcode});
    ModRm(1, kRegisters[k], 7);
    Bytes({k * 8});
  }
  void MoveVector(int opcode, int v) {
    Bytes({0x0f, opcode});
    ModRm(2, v, 7);
    U32(static_cast<std::uint32_t>(offsetof(State, vectors)) + static_cast<std::uint32_t>(v) * 16);
  }
  int MemoryOffset() { return static_cast<int>(offsetof(State, memory)) + 8 * Below(5); }

  // add or adc sbb and sub xor cmp, between registers, or with memory on either side
  void Arithmetic() {
    const int opcode = Below(8) << 3 | (Below(2) == 0 ? 1 : 3);
    const int reg = AnyRegister();
    if (Below(2) == 0) {
      const int rm = AnyRegister();
      Rex(Below(2), reg, rm);
      Bytes({opcode});
      ModRm(3, reg, rm);
      return;
    }
    Rex(Below(2), reg, 7);
    Bytes({opcode});
    ModRm(1, reg, 7);
    Bytes({MemoryOffset()});
  }
  void Shift() {
    const int rm = AnyRegister();
    Rex(1, 0, rm);
    Bytes({0xc1});
    static constexpr int kKinds[] = {0, 1, 2, 3, 4, 5, 7};  // rol ror rcl rcr shl shr sar
    ModRm(3, kKinds[Below(7)], rm);
    Bytes({1});  // (by 1: every flag is defined)
  }
  void ByCondition() {
    const int reg = AnyRegister();
    const int rm = AnyRegister();
    const int condition = Below(16);
    if (Below(2) == 0) {
      Rex(0, 0, rm);
      Bytes({0x0f, 0x90 | condition});  // setcc
      ModRm(3, 0, rm);
      return;
    }
    Rex(1, reg, rm);
    Bytes({0x0f, 0x40 | condition});  // cmovcc
    ModRm(3, reg, rm);
  }
  void PushPop() {
    const int from = AnyRegister();
    const int to = AnyRegister();
    Rex(0, 0, from);
    Bytes({0x50 | (from & 7)});
    if (Below(3) == 0) Bytes({0x9c, 0x9d});  // pushfq, popfq
    Rex(0, 0, to);
    Bytes({0x58 | (to & 7)});
  }
  // Over one instruction that is executed or not.
  void BranchForward() {
    const int condition = Below(16);
    const bool near = Below(2) == 0;
    if (near) {
      Bytes({0x0f, 0x80 | condition});
      U32(3);
    } else {
      Bytes({0x70 | condition, 3});
    }
    const int rm = AnyRegister();
    Rex(1, 0, rm);
    Bytes({0xff});
    ModRm(3, Below(2), rm);  // inc, dec
  }
  // mov ecx, n; body; loop or dec and jnz
  void Loop() {
    Bytes({0xb9});
    U32(static_cast<std::uint32_t>(1 + Below(5)));
    Bytes({0x48, 0x01, 0xc2});  // add rdx, rax
    if (Below(2) == 0) {
      Bytes({0xe2, 0xfb});  // loop
    } else {
      Bytes({0xff, 0xc9, 0x75, 0xf9});
    }
  }
  // call over a function in line, which returns; or through a register
  void Call() {
    Bytes({0xeb, 4});                 // jmp over it
    Bytes({0x48, 0xff, 0xc0, 0xc3});  // function: inc rax; ret
    const int back = -4 - 5;
    if (Below(2) == 0) {
      Bytes({0xe8});
      U32(static_cast<std::uint32_t>(back));
      return;
    }
    Bytes({0x48, 0x8d, 0x15});  // lea rdx, [function]
    U32(static_cast<std::uint32_t>(-4 - 7));
    if (Below(2) == 0) {
      Bytes({0xff, 0xd2});  // call rdx
    } else {
      Bytes({0x52, 0xff, 0x14, 0x24, 0x58});  // push rdx; call [rsp]; pop rax
    }
  }
  // A load relative to RIP: of the code just before.
  void RipRelative() {
    const int reg = AnyRegister();
    switch (Below(3)) {
      case 0:
        Rex(1, reg, 0);
        Bytes({0x8b});
        break;
      case 1:
        Rex(1, reg, 0);
        Bytes({0x33});  // xor
        break;
      default:
        Rex(1, reg, 0);
        Bytes({0x8d});  // lea
        break;
    }
    ModRm(0, reg, 5);
    U32(static_cast<std::uint32_t>(-15));
  }
  void Vector() {
    static constexpr int kOpcodes[] = {0x54, 0x57, 0x56, 0x55, 0x14, 0x15};  // bitwise, unpack
    const int reg = Below(4);
    if (Below(2) == 0) {
      Bytes({0x0f, kOpcodes[Below(6)]});
      ModRm(3, reg, Below(4));
    } else {
      Bytes({0x0f, kOpcodes[Below(6)]});
      ModRm(2, reg, 7);
      U32(static_cast<std::uint32_t>(offsetof(State, vectors)));
    }
  }
  void One() {
    switch (Below(12)) {
      case 0:
        return Shift();
      case 1:
        return ByCondition();
      case 2:
        return PushPop();
      case 3:
        return BranchForward();
      case 4:
        return Loop();
      case 5:
        return Call();
      case 6:
        return RipRelative();
      case 7:
        return Vector();
      default:
        return Arithmetic();
    }
  }

  std::uint8_t* code_;
  std::mt19937_64 random_;
};

State Initial(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  State state = {};
  for (std::uint64_t& r : state.registers) r = random();
  for (std::uint64_t& m : state.memory) m = random();
  for (auto& vector : state.vectors) {
    for (float& x : vector) x = static_cast<float>(random() % 1000);
  }
  return state;
}

// `hint`: where the code lies; far away, operands relative to RIP are out of the cache's reach.
void RunSeeds(std::uintptr_t hint, int from, int to) {
  auto* code = static_cast<std::uint8_t*>(mmap(reinterpret_cast<void*>(hint), kCodeSize,
                                               PROT_READ | PROT_WRITE | PROT_EXEC,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  for (int seed = from; seed < to; ++seed) {
    std::memset(code, 0xcc, kCodeSize);
    Generator(code, static_cast<std::uint64_t>(seed)).Generate(40);
    void (*function)(void*) = nullptr;
    std::memcpy(&function, &code, sizeof code);
    State native = Initial(static_cast<std::uint64_t>(seed));
    State stepped = native;
    State translated = native;
    function(&native);
    const std::uint64_t steps = SingleStep(function, &stepped);
    const ExactCounts counts = ExactCounter::Count(function, &translated);
    ASSERT_TRUE(counts.complete) << "seed " << seed << ": " << counts.incomplete_reason;
    ASSERT_EQ(counts.instructions, steps) << "seed " << seed;
    ASSERT_EQ(std::memcmp(&native, &translated, sizeof native), 0) << "seed " << seed;
  }
  munmap(code, kCodeSize);
}

// 1,000 in all, in parts, so that a failure tells where.
TEST(ExactRandom, NearTheCodeCache) { RunSeeds(0, 0, 500); }
TEST(ExactRandom, OutOfItsReach) { RunSeeds(0x10000000000, 500, 1000); }

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
