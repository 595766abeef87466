// Branches with known outcomes, and the chain of instructions that measures the core's clock.

#include "harness/probes/catalogue.h"

#if defined(__x86_64__)

#include <cstring>
#include <random>

#include "harness/machine/clock.h"

namespace topdnn {
namespace {

// In each iteration one byte decides one branch: taken if zero, otherwise a counter is incremented.
// The loop's own branch is taken except in the last iteration.
void Branches(ProbeBuffers& b, std::int64_t n) {
  std::uint64_t position = b.position;
  std::uint64_t not_taken = 0;
  asm volatile(
      ".p2align 5\n"
      "1:\n\t"
      "cmpb $0, (%[memory],%[position])\n\t"
      "je 2f\n\t"
      "add $1, %[count]\n"
      "2:\n\t"
      "add $1, %[position]\n\t"
      "and %[mask], %[position]\n\t"
      "sub $1, %[n]\n\t"
      "jnz 1b\n\t"
      : [n] "+r"(n), [position] "+r"(position), [count] "+r"(not_taken)
      : [memory] "r"(b.memory.get()), [mask] "r"(b.working_set - 1)
      : "cc", "memory");
  b.position = position;
  std::memcpy(b.results.get(), &not_taken, sizeof not_taken);
}

void PrepareRandom(const Probe&, ProbeBuffers& b, Fill, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  for (std::size_t i = 0; i < b.working_set; ++i) {
    b.memory[i] = static_cast<std::byte>(generator() >> 40 & 1);
  }
  b.position = 0;
}

void PrepareTaken(const Probe&, ProbeBuffers& b, Fill, std::uint64_t) {
  std::memset(b.memory.get(), 0, b.working_set);
  b.position = 0;
}

// The value is kept in `position`; any start value works.
void Chain(ProbeBuffers& b, std::int64_t n) { b.position = RunXorChain(b.position, 5, n); }

void PrepareChain(const Probe&, ProbeBuffers& b, Fill, std::uint64_t seed) {
  b.position = seed | 1;
}

}  // namespace

std::vector<Probe> ControlProbes() {
  ProbeWork random;
  random.bytes_loaded = 1;
  random.loads = 1;
  random.instructions = 6.5;  // on average: half of the iterations increment the counter
  random.branches = 2;
  ProbeWork taken = random;
  taken.instructions = 6;
  ProbeWork chain;
  chain.instructions = kChainLength + 2;
  chain.branches = 1;
  chain.cycles = kChainLength;
  return {
      {"branch/random", ProbeKind::kBranch, Isa::kSse2, random, PrepareRandom, Branches,
       std::nullopt},
      {"branch/taken", ProbeKind::kBranch, Isa::kSse2, taken, PrepareTaken, Branches, std::nullopt},
      {"clock/xor", ProbeKind::kClock, Isa::kSse2, chain, PrepareChain, Chain, std::nullopt}};
}

}  // namespace topdnn

#else

namespace topdnn {
std::vector<Probe> ControlProbes() { return {}; }
}  // namespace topdnn

#endif
