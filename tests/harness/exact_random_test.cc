// Random instruction sequences, translated and single-stepped: the counts are equal, and registers,
// flags and memory equal those of a native run. TOPDNN_EXACT_SECONDS=600 runs for ten minutes.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"

#if defined(__x86_64__)

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>

#include "tests/harness/exact_oracle.h"

namespace topdnn {
namespace {

constexpr std::size_t kCodeSize = 1U << 16;

// The data of a sequence; rdi holds its address.
struct State {
  std::uint64_t registers[8];  // in the order of kRegisters
  std::uint64_t flags;
  std::uint64_t memory[16];
  alignas(16) float vectors[4][4];
};

// rax rcx rdx rbx rsi r8 r9 r10; not rsp, rbp (needed by the unwinder) or rdi.
constexpr int kRegisters[] = {0, 1, 2, 3, 6, 8, 9, 10};

class Generator {
 public:
  // `changes_itself`: it may write its own code.
  Generator(std::uint8_t* code, std::uint64_t seed, bool changes_itself)
      : code_(code), random_(seed), changes_itself_(changes_itself) {}

  // Loads the state, executes `n` random pieces, stores the state.
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
    Bytes({1});  // by 1, so that every flag is defined
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
  // A branch over one instruction, which may be executed or not.
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
  // calls an inline function, directly or through a register
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
  // A load relative to RIP, from the preceding code.
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
    switch (Below(18)) {
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
      case 8:
        return Repeat();
      case 9:
        return Exchange();
      case 10:
        return WideRipRelative();
      case 11:
        return JumpThroughRegister();
      case 12:
        return changes_itself_ ? ChangeNext() : Arithmetic();
      default:
        return Arithmetic();
    }
  }

  // rep stosb, or rep movsb by one byte, in the state's memory. Addresses differ between runs, so
  // they must not remain in a register.
  void Repeat() {
    const bool copies = Below(2) == 0;
    Bytes({0x57, 0x48, 0x8d, 0x7f, MemoryOffset()});  // push rdi; lea rdi, [rdi + offset]
    if (copies) Bytes({0x48, 0x8d, 0x77, 1});         // lea rsi, [rdi + 1]
    Bytes({0xb9});
    U32(static_cast<std::uint32_t>(Below(40)));  // mov ecx, n
    Bytes({0xf3, copies ? 0xa4 : 0xaa, 0x5f});
    if (copies) Bytes({0xbe, 1, 0, 0, 0});  // mov esi, 1
  }
  // lock cmpxchg, lock xadd
  void Exchange() {
    const int reg = AnyRegister();
    Bytes({0xf0});
    Rex(1, reg, 7);
    Bytes({0x0f, Below(2) == 0 ? 0xb1 : 0xc1});
    ModRm(1, reg, 7);
    Bytes({MemoryOffset()});
  }
  // A load relative to RIP in the newer encodings: VEX of two and three bytes, EVEX.
  void WideRipRelative() {
    const int v = Below(4);
    const int kind = Below(3);
    if (!__builtin_cpu_supports("avx") || (kind == 2 && !__builtin_cpu_supports("avx512vl")))
      return;
    if (kind == 0) Bytes({0xc5, 0xfa, 0x6f});              // vmovdqu
    if (kind == 1) Bytes({0xc4, 0xe1, 0x7a, 0x6f});        // vmovdqu
    if (kind == 2) Bytes({0x62, 0xf1, 0x7e, 0x08, 0x6f});  // vmovdqu32
    ModRm(0, v, 5);
    U32(static_cast<std::uint32_t>(-10));
  }
  // lea rdx, [after the next instruction]; then jmp rdx, or push rdx; ret
  void JumpThroughRegister() {
    const bool returns = Below(2) == 0;
    Bytes({0x48, 0x8d, 0x15});
    U32(2 + 3);
    if (returns) {
      Bytes({0x52, 0xc3});
    } else {
      Bytes({0xff, 0xe2});
    }
    Bytes({0x48, 0xff, 0xc0});  // inc rax
  }
  // Writes the constant of a later `mov`: the next instruction, or after others, one of which may
  // be a branch.
  void ChangeNext() {
    const int filler = Below(4);
    const int sizes[] = {0, 3, 2, 4};
    Bytes({0xc6, 0x05});
    U32(static_cast<std::uint32_t>(1 + sizes[filler] + 1));
    Bytes({Below(256)});                            // mov byte [rip + ...], value
    if (filler == 1) Bytes({0x48, 0x01, 0xc2});     // add rdx, rax
    if (filler == 2) Bytes({0x74, 0});              // je to the next
    if (filler == 3) Bytes({0xeb, 2, 0x0f, 0x0b});  // jmp over an instruction that cannot run
    Bytes({0xbe});                                  // mov esi, 0
    U32(0);
  }

  std::uint8_t* code_;
  std::mt19937_64 random_;
  bool changes_itself_;
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

struct Totals {
  std::uint64_t cases = 0, instructions = 0;
};

// The location of the code. If it is far away, the cache cannot reach its RIP-relative operands.
struct Place {
  std::uintptr_t hint;
  bool writable;
};

void RunSeeds(Place place, std::uint64_t from, std::uint64_t to, Totals* totals) {
  auto* code = static_cast<std::uint8_t*>(mmap(reinterpret_cast<void*>(place.hint), kCodeSize,
                                               PROT_READ | PROT_WRITE | PROT_EXEC,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  std::vector<std::uint8_t> text(kCodeSize);
  for (std::uint64_t seed = from; seed < to; ++seed) {
    std::fill(text.begin(), text.end(), std::uint8_t{0xcc});
    Generator(text.data(), seed, place.writable).Generate(40);
    void (*function)(void*) = nullptr;
    std::memcpy(&function, &code, sizeof code);
    // The code may have changed itself.
    const auto renew = [&] {
      mprotect(code, kCodeSize, PROT_READ | PROT_WRITE);
      std::memcpy(code, text.data(), kCodeSize);
      mprotect(code, kCodeSize, PROT_READ | PROT_EXEC | (place.writable ? PROT_WRITE : 0));
    };
    State native = Initial(seed);
    State stepped = native;
    State translated = native;
    renew();
    function(&native);
    renew();
    const std::uint64_t steps = SingleStep(function, &stepped);
    renew();
    const ExactCounts counts = ExactCounter::Count(function, &translated);
    ASSERT_TRUE(counts.complete) << "seed " << seed << ": " << counts.incomplete_reason;
    ASSERT_EQ(counts.instructions, steps) << "seed " << seed;
    ASSERT_EQ(std::memcmp(&native, &translated, sizeof native), 0) << "seed " << seed;
    ++totals->cases;
    totals->instructions += steps;
  }
  munmap(code, kCodeSize);
}

// Runs 200 sequences, then continues for a quarter of TOPDNN_EXACT_SECONDS, with seeds from the
// time. There are four such tests.
void RunFor(Place place, std::uint64_t from) {
  Totals totals;
  RunSeeds(place, from, from + 200, &totals);
  const char* text = std::getenv("TOPDNN_EXACT_SECONDS");
  const double seconds = text == nullptr ? 0 : std::strtod(text, nullptr) / 4;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::uint64_t seed = static_cast<std::uint64_t>(std::time(nullptr)) << 24 | from;
  while (std::chrono::steady_clock::now() < end && !testing::Test::HasFailure()) {
    RunSeeds(place, seed, seed + 100, &totals);
    seed += 100;
  }
  if (seconds > 0) {
    std::printf("%llu cases, %llu instructions without difference\n",
                static_cast<unsigned long long>(totals.cases),
                static_cast<unsigned long long>(totals.instructions));
  }
}

constexpr std::uintptr_t kFar = 0x10000000000;
TEST(ExactRandom, NearTheCodeCache) { RunFor({0, false}, 0); }
TEST(ExactRandom, OutOfTheCachesReach) { RunFor({kFar, false}, 500); }
TEST(ExactRandom, CodeThatChangesItself) { RunFor({0, true}, 1000); }
TEST(ExactRandom, CodeThatChangesItselfOutOfReach) { RunFor({kFar, true}, 1500); }

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
