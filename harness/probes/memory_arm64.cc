// The memory probes of harness/probes/memory.cc for arm64, with NEON's vectors of 16 bytes. The
// walk through the working set, its blocks and its wrap-around are the same.

#if defined(__aarch64__)

#include "harness/probes/catalogue.h"

namespace topdnn {
namespace {

constexpr int kBlock = 512;
constexpr int kChaseLoads = 8;
constexpr std::size_t kSkew = 1024;  // see memory.cc

#define CLOBBERS \
  "x10", "x11", "x12", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"

#define WALK(body)                             \
  ".p2align 5\n"                               \
  "1:\n\t" body                                \
  "add %[position], %[position], %[block]\n\t" \
  "and %[position], %[position], %[mask]\n\t"  \
  "subs %[n], %[n], #1\n\t"                    \
  "b.ne 1b\n\t"

// Adds all 32-bit words into four accumulators.
void Read(ProbeBuffers& b, std::int64_t n) {
  std::uint64_t position = b.position;
  asm volatile(".irp r,0,1,2,3\n\tmovi v\\r\\().2d, #0\n\t.endr\n\t" WALK(
                   "add x10, %[memory], %[position]\n\t"
                   ".irp k,0,1,2,3,4,5,6,7\n\t"
                   "ldp q4, q5, [x10, #(64*\\k)]\n\t"
                   "ldp q6, q7, [x10, #(64*\\k+32)]\n\t"
                   "add v0.4s, v0.4s, v4.4s\n\t"
                   "add v1.4s, v1.4s, v5.4s\n\t"
                   "add v2.4s, v2.4s, v6.4s\n\t"
                   "add v3.4s, v3.4s, v7.4s\n\t"
                   ".endr\n\t") ".irp r,0,1,2,3\n\tstr q\\r, [%[results], #(64*\\r)]\n\t.endr\n\t"
               : [n] "+r"(n), [position] "+r"(position)
               : [memory] "r"(b.memory.get()), [results] "r"(b.results.get()),
                 [mask] "r"(b.working_set - 1), [block] "i"(kBlock)
               : CLOBBERS);
  b.position = position;
}

// a = b + 3 c.
void Triad(ProbeBuffers& b, std::int64_t n) {
  const std::size_t quarter = b.working_set / 4;
  std::byte* const a = b.memory.get();
  std::uint64_t position = b.position;
  asm volatile("fmov v9.4s, #3.0\n\t" WALK("add x10, %[a], %[position]\n\t"
                                           "add x11, %[b], %[position]\n\t"
                                           "add x12, %[c], %[position]\n\t"
                                           ".irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
                                           "ldp q0, q1, [x11, #(32*\\k)]\n\t"
                                           "ldp q2, q3, [x12, #(32*\\k)]\n\t"
                                           "fmla v0.4s, v2.4s, v9.4s\n\t"
                                           "fmla v1.4s, v3.4s, v9.4s\n\t"
                                           "stp q0, q1, [x10, #(32*\\k)]\n\t"
                                           ".endr\n\t")
               : [n] "+r"(n), [position] "+r"(position)
               : [a] "r"(a), [b] "r"(a + quarter + kSkew), [c] "r"(a + 2 * quarter + 2 * kSkew),
                 [mask] "r"(quarter - 1), [block] "i"(kBlock)
               : CLOBBERS);
  b.position = position;
}

// Copies the second half to the first half.
void Copy(ProbeBuffers& b, std::int64_t n) {
  const std::size_t half = b.working_set / 2;
  std::uint64_t position = b.position;
  asm volatile(WALK("add x10, %[to], %[position]\n\t"
                    "add x11, %[from], %[position]\n\t"
                    ".irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
                    "ldp q0, q1, [x11, #(32*\\k)]\n\t"
                    "stp q0, q1, [x10, #(32*\\k)]\n\t"
                    ".endr\n\t")
               : [n] "+r"(n), [position] "+r"(position)
               : [to] "r"(b.memory.get()), [from] "r"(b.memory.get() + half), [mask] "r"(half - 1),
                 [block] "i"(kBlock)
               : CLOBBERS);
  b.position = position;
}

// Each line holds the address of the next line. `position` is the current address (0: the first
// line).
void Chase(ProbeBuffers& b, std::int64_t n) {
  std::uint64_t at = b.position;
  if (at == 0) at = reinterpret_cast<std::uint64_t>(b.memory.get());
  asm volatile(
      ".p2align 5\n"
      "1:\n\t"
      ".rept %c[loads]\n\t"
      "ldr %[at], [%[at]]\n\t"
      ".endr\n\t"
      "subs %[n], %[n], #1\n\t"
      "b.ne 1b\n\t"
      : [at] "+r"(at), [n] "+r"(n)
      : [loads] "i"(kChaseLoads)
      : "cc", "memory");
  b.position = at;
}

}  // namespace

std::vector<Probe> MemoryProbes() {
  constexpr double kPairs = kBlock / 32.0;  // loads and stores of two vectors
  constexpr double kWalk = 4;
  ProbeWork read;
  read.bytes_loaded = kBlock;
  read.loads = kPairs;
  read.instructions = kPairs + 2 * kPairs + kWalk + 1;
  read.branches = 1;
  ProbeWork triad;
  triad.flops = 2.0 * kBlock / 4;
  triad.bytes_loaded = 2 * kBlock;
  triad.bytes_stored = kBlock;
  triad.loads = 2 * kPairs;
  triad.instructions = 5 * kPairs + kWalk + 3;
  triad.branches = 1;
  ProbeWork copy;
  copy.bytes_loaded = kBlock;
  copy.bytes_stored = kBlock;
  copy.loads = kPairs;
  copy.instructions = 2 * kPairs + kWalk + 2;
  copy.branches = 1;
  ProbeWork chase;
  chase.bytes_loaded = 8 * kChaseLoads;
  chase.loads = kChaseLoads;
  chase.instructions = kChaseLoads + 2;
  chase.branches = 1;
  return {{"read/neon", ProbeKind::kRead, Isa::kNeon, read, PrepareWords, Read, std::nullopt},
          {"triad/neon", ProbeKind::kTriad, Isa::kNeon, triad, PrepareFloats, Triad, std::nullopt},
          {"copy/neon", ProbeKind::kCopy, Isa::kNeon, copy, PrepareWords, Copy, std::nullopt},
          {"chase", ProbeKind::kChase, Isa::kNeon, chase, PrepareCycle, Chase, std::nullopt}};
}

}  // namespace topdnn

#endif
