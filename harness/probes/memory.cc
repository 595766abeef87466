// Bandwidth and latency of the memory hierarchy. The size of the working set (ProbeBuffers) selects
// the level, so one probe serves all levels. The probe walks the working set in blocks of 512 bytes
// and wraps around with a mask, so there is no branch to mispredict. Triad and copy as in
// McCalpin's STREAM. Bytes are those that the program moves, without the fetch of a line before a
// store.

#include "harness/probes/catalogue.h"

#if defined(__x86_64__)

namespace topdnn {
namespace {

constexpr int kBlock = 512;
constexpr int kCopyBytes = 4096;
constexpr int kChaseLoads = 8;

#define MEMORY_CLOBBERS \
  "rcx", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"

#define WALK(body)          \
  ".p2align 5\n"            \
  "1:\n\t" body             \
  "add %[block], %%rcx\n\t" \
  "and %[mask], %%rcx\n\t"  \
  "sub $1, %[n]\n\t"        \
  "jnz 1b\n\t"

// Adds all 32-bit words into four accumulators. The sum proves that every byte was read, and no
// load waits for an integer addition.
#define READ(name, clear, add, width, offsets, store, end)                                   \
  void name(ProbeBuffers& b, std::int64_t n) {                                               \
    std::uint64_t position = b.position;                                                     \
    asm volatile(                                                                            \
        clear "mov %[position], %%rcx\n\t" WALK(                                             \
            ".irp k," offsets "\n\t" add ".endr\n\t") "mov %%rcx, %[position]\n\t" store end \
        : [n] "+r"(n), [position] "+r"(position)                                             \
        : [memory] "r"(b.memory.get()), [results] "r"(b.results.get()),                      \
          [mask] "r"(b.working_set - 1), [block] "i"(kBlock)                                 \
        : MEMORY_CLOBBERS);                                                                  \
    b.position = position;                                                                   \
  }

READ(ReadAvx512, ".irp r,0,1,2,3\n\tvxorps %%ymm\\r, %%ymm\\r, %%ymm\\r\n\t.endr\n\t",
     "vpaddd (128*2*\\k)(%[memory],%%rcx), %%zmm0, %%zmm0\n\t"
     "vpaddd (128*2*\\k+64)(%[memory],%%rcx), %%zmm1, %%zmm1\n\t"
     "vpaddd (128*2*\\k+128)(%[memory],%%rcx), %%zmm2, %%zmm2\n\t"
     "vpaddd (128*2*\\k+192)(%[memory],%%rcx), %%zmm3, %%zmm3\n\t",
     64, "0,1", ".irp r,0,1,2,3\n\tvmovups %%zmm\\r, (64*\\r)(%[results])\n\t.endr\n\t",
     "vzeroupper\n\t")
READ(ReadAvx2, ".irp r,0,1,2,3\n\tvxorps %%ymm\\r, %%ymm\\r, %%ymm\\r\n\t.endr\n\t",
     "vpaddd (128*\\k)(%[memory],%%rcx), %%ymm0, %%ymm0\n\t"
     "vpaddd (128*\\k+32)(%[memory],%%rcx), %%ymm1, %%ymm1\n\t"
     "vpaddd (128*\\k+64)(%[memory],%%rcx), %%ymm2, %%ymm2\n\t"
     "vpaddd (128*\\k+96)(%[memory],%%rcx), %%ymm3, %%ymm3\n\t",
     32, "0,1,2,3", ".irp r,0,1,2,3\n\tvmovups %%ymm\\r, (64*\\r)(%[results])\n\t.endr\n\t",
     "vzeroupper\n\t")
READ(ReadSse2, ".irp r,0,1,2,3\n\tpxor %%xmm\\r, %%xmm\\r\n\t.endr\n\t",
     "paddd (64*\\k)(%[memory],%%rcx), %%xmm0\n\t"
     "paddd (64*\\k+16)(%[memory],%%rcx), %%xmm1\n\t"
     "paddd (64*\\k+32)(%[memory],%%rcx), %%xmm2\n\t"
     "paddd (64*\\k+48)(%[memory],%%rcx), %%xmm3\n\t",
     16, "0,1,2,3,4,5,6,7", ".irp r,0,1,2,3\n\tmovups %%xmm\\r, (64*\\r)(%[results])\n\t.endr\n\t",
     "")

// a = b + 3 c. The working set has four quarters: a, b, c, and one that is unused so that one mask
// wraps all. The arrays are a quarter plus a whole number of lines apart. Otherwise their low
// address bits would be equal, and each load would seem to depend on the preceding store (4 KiB
// aliasing).
constexpr std::size_t kSkew = 1024;

#define TRIAD(name, body, end)                                                            \
  void name(ProbeBuffers& b, std::int64_t n) {                                            \
    const std::size_t quarter = b.working_set / 4;                                        \
    std::byte* const a = b.memory.get();                                                  \
    std::uint64_t position = b.position;                                                  \
    asm volatile(                                                                         \
        "mov $0x40400000, %%ecx\n\t"                                                      \
        "movd %%ecx, %%xmm7\n\t"                                                          \
        "shufps $0, %%xmm7, %%xmm7\n\t"                                                   \
        "mov %[position], %%rcx\n\t" body "mov %%rcx, %[position]\n\t" end                \
        : [n] "+r"(n), [position] "+r"(position)                                          \
        : [a] "r"(a), [b] "r"(a + quarter + kSkew), [c] "r"(a + 2 * quarter + 2 * kSkew), \
          [mask] "r"(quarter - 1), [block] "i"(kBlock)                                    \
        : MEMORY_CLOBBERS);                                                               \
    b.position = position;                                                                \
  }

TRIAD(TriadAvx512,
      "vbroadcastss %%xmm7, %%zmm7\n\t" WALK(".irp k,0,1,2,3,4,5,6,7\n\t"
                                             "vmovups (64*\\k)(%[c],%%rcx), %%zmm0\n\t"
                                             "vfmadd213ps (64*\\k)(%[b],%%rcx), %%zmm7, %%zmm0\n\t"
                                             "vmovups %%zmm0, (64*\\k)(%[a],%%rcx)\n\t"
                                             ".endr\n\t"),
      "vzeroupper\n\t")
TRIAD(TriadAvx2,
      "vbroadcastss %%xmm7, %%ymm7\n\t" WALK(".irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
                                             "vmovups (32*\\k)(%[c],%%rcx), %%ymm0\n\t"
                                             "vfmadd213ps (32*\\k)(%[b],%%rcx), %%ymm7, %%ymm0\n\t"
                                             "vmovups %%ymm0, (32*\\k)(%[a],%%rcx)\n\t"
                                             ".endr\n\t"),
      "vzeroupper\n\t")
TRIAD(TriadSse2,
      WALK(".irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,"
           "29,30,31\n\t"
           "movups (16*\\k)(%[c],%%rcx), %%xmm0\n\t"
           "mulps %%xmm7, %%xmm0\n\t"
           "addps (16*\\k)(%[b],%%rcx), %%xmm0\n\t"
           "movups %%xmm0, (16*\\k)(%[a],%%rcx)\n\t"
           ".endr\n\t"),
      "")

// Copies the second half to the first half, 4 KiB at a time.
void CopyRepMovsb(ProbeBuffers& b, std::int64_t n) {
  const std::size_t half = b.working_set / 2;
  std::byte* const to = b.memory.get();
  std::byte* const from = to + half;
  std::uint64_t position = b.position;
  std::uint64_t length = 0;
  asm volatile(
      "1:\n\t"
      "lea (%[to],%[position]), %%rdi\n\t"
      "lea (%[from],%[position]), %%rsi\n\t"
      "mov %[bytes], %%ecx\n\t"
      "rep movsb\n\t"
      "add %[bytes], %[position]\n\t"
      "and %[mask], %[position]\n\t"
      "sub $1, %[n]\n\t"
      "jnz 1b\n\t"
      : [n] "+r"(n), [position] "+r"(position), "+c"(length)
      : [to] "r"(to), [from] "r"(from), [mask] "r"(half - 1), [bytes] "i"(kCopyBytes)
      : "rsi", "rdi", "cc", "memory");
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
      "mov (%[at]), %[at]\n\t"
      ".endr\n\t"
      "sub $1, %[n]\n\t"
      "jnz 1b\n\t"
      : [at] "+r"(at), [n] "+r"(n)
      : [loads] "i"(kChaseLoads)
      : "cc", "memory");
  b.position = at;
}

Probe ReadProbe(const char* name, Isa isa, int width, void (*run)(ProbeBuffers&, std::int64_t)) {
  ProbeWork work;
  work.bytes_loaded = kBlock;
  work.loads = static_cast<double>(kBlock) / width;
  work.instructions = work.loads + 4;
  work.branches = 1;
  return {name, ProbeKind::kRead, isa, work, PrepareWords, run, std::nullopt};
}

Probe TriadProbe(const char* name, Isa isa, int width, void (*run)(ProbeBuffers&, std::int64_t)) {
  ProbeWork work;
  work.flops = 2.0 * kBlock / 4;
  work.bytes_loaded = 2 * kBlock;
  work.bytes_stored = kBlock;
  work.loads = 2.0 * kBlock / width;
  work.instructions = (isa == Isa::kSse2 ? 4.0 : 3.0) * kBlock / width + 4;
  work.branches = 1;
  return {name, ProbeKind::kTriad, isa, work, PrepareFloats, run, std::nullopt};
}

}  // namespace

std::vector<Probe> MemoryProbes() {
  ProbeWork copy;
  copy.bytes_loaded = kCopyBytes;
  copy.bytes_stored = kCopyBytes;
  copy.instructions = 8;
  copy.branches = 1;
  ProbeWork chase;
  chase.bytes_loaded = 8 * kChaseLoads;
  chase.loads = kChaseLoads;
  chase.instructions = kChaseLoads + 2;
  chase.branches = 1;
  return {ReadProbe("read/sse2", Isa::kSse2, 16, ReadSse2),
          ReadProbe("read/avx2", Isa::kAvx2, 32, ReadAvx2),
          ReadProbe("read/avx512", Isa::kAvx512, 64, ReadAvx512),
          TriadProbe("triad/sse2", Isa::kSse2, 16, TriadSse2),
          TriadProbe("triad/avx2", Isa::kAvx2, 32, TriadAvx2),
          TriadProbe("triad/avx512", Isa::kAvx512, 64, TriadAvx512),
          {"copy/rep_movsb", ProbeKind::kCopy, Isa::kSse2, copy, PrepareWords, CopyRepMovsb,
           std::nullopt},
          {"chase", ProbeKind::kChase, Isa::kSse2, chase, PrepareCycle, Chase, std::nullopt}};
}

}  // namespace topdnn

#elif !defined(__aarch64__)  // harness/probes/memory_arm64.cc

namespace topdnn {
std::vector<Probe> MemoryProbes() { return {}; }
}  // namespace topdnn

#endif
