// The highest rates of a core with data in L1: instructions issued, floating-point operations by
// width, loads and stores by width, taken branches. Each probe saturates one resource, so a count
// divided by the measured rate is a lower bound for the time of any code. One more probe is a chain
// of dependent multiply-adds, which saturates nothing.

#include "harness/probes/catalogue.h"

#if defined(__x86_64__)

#include <cstring>

namespace topdnn {
namespace {

#define REPEAT(times, body) ".rept " #times "\n\t" body ".endr\n\t"

#define CORE(name, begin, body, end)                                                              \
  void name(ProbeBuffers& b, std::int64_t n) {                                                    \
    asm volatile(begin                                                                            \
                 ".p2align 6\n"                                                                   \
                 "1:\n\t" body                                                                    \
                 "sub $1, %[n]\n\t"                                                               \
                 "jnz 1b\n\t" end                                                                 \
                 : [n] "+r"(n)                                                                    \
                 : [memory] "r"(b.memory.get()), [results] "r"(b.results.get())                   \
                 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", \
                   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm12", "xmm13", "xmm14");    \
  }

// ---- Issue -------------------------------------------------------------------------------------
// Two mixes, because no single kind of instruction has enough ports: arithmetic with moves, which
// many cores eliminate when renaming, and arithmetic with loads and a store. `nop` is not used: Zen
// 4 fuses it with its neighbour and retires 12 per cycle where 6 are issued.

CORE(IssueMoves, "xor %%eax, %%eax\n\t",
     REPEAT(20,
            "add $1, %%ecx\n\tadd $1, %%edx\n\tmov %%eax, %%r9d\n\t"
            "add $1, %%r8d\n\tadd $1, %%r10d\n\tmov %%eax, %%r11d\n\t"),
     "")
CORE(IssueMemory, "xor %%eax, %%eax\n\t",
     REPEAT(20,
            "add $1, %%ecx\n\tmov 64(%[memory]), %%r9\n\tadd $1, %%edx\n\t"
            "mov 72(%[memory]), %%r10\n\tadd $1, %%r8d\n\tmov %%rax, (%[memory])\n\t"),
     "")
CORE(Taken, "", REPEAT(30, "jmp 2f\n\tnop\n2:\n\t"), "")

// ---- Floating point: multiply-adds and additions, which some cores execute in separate units ----

#define ZERO                                \
  ".irp r,0,1,2,3,4,5,6,7,12,13,14\n\t"     \
  "vxorps %%xmm\\r, %%xmm\\r, %%xmm\\r\n\t" \
  ".endr\n\t"
#define MULTIPLY_ADD_AND_ADD(register) \
  ".irp r,0,1,2,3,4,5,6,7\n\t"                                                      \
  "vfmadd231ps %%" register "12, %%" register "13, %%" register "\\r\n\t"           \
  "vaddps %%" register "12, %%" register "13, %%" register "14\n\t"                 \
  ".endr\n\t"

CORE(Fp128, ZERO, REPEAT(8, MULTIPLY_ADD_AND_ADD("xmm")), "vzeroupper\n\t")
CORE(Fp256, ZERO, REPEAT(8, MULTIPLY_ADD_AND_ADD("ymm")), "vzeroupper\n\t")
CORE(Fp512, ZERO, REPEAT(8, MULTIPLY_ADD_AND_ADD("zmm")), "vzeroupper\n\t")

// x = x / 2 + 1, repeated.
CORE(Chain,
     "mov $0x3f000000, %%eax\n\t"
     "vmovd %%eax, %%xmm1\n\t"
     "vaddss %%xmm1, %%xmm1, %%xmm2\n\t"
     "vxorps %%xmm0, %%xmm0, %%xmm0\n\t",
     REPEAT(16, "vfmadd213ss %%xmm2, %%xmm1, %%xmm0\n\t"),
     "vmovss %%xmm0, (%[results])\n\t"
     "vzeroupper\n\t")

// ---- Loads and stores --------------------------------------------------------------------------

CORE(Load8, "",
     REPEAT(20,
            "mov (%[memory]), %%rcx\n\tmov 8(%[memory]), %%rdx\n\tmov 16(%[memory]), %%r8\n\t"
            "mov 24(%[memory]), %%r9\n\tmov 32(%[memory]), %%r10\n\tmov 40(%[memory]), %%r11\n\t"),
     "")
CORE(Store8, "xor %%eax, %%eax\n\t",
     REPEAT(20,
            "mov %%rax, (%[memory])\n\tmov %%rax, 8(%[memory])\n\tmov %%rax, 16(%[memory])\n\t"
            "mov %%rax, 24(%[memory])\n\tmov %%rax, 32(%[memory])\n\tmov %%rax, 40(%[memory])\n\t"),
     "")
CORE(LoadStore8, "xor %%eax, %%eax\n\t",
     REPEAT(40,
            "mov 64(%[memory]), %%rcx\n\tmov 72(%[memory]), %%rdx\n\tmov %%rax, (%[memory])\n\t"),
     "")

#define FOUR_LOADS(register, step) \
  ".irp r,0,1,2,3\n\t"                                                    \
  "vmovups (" step "*\\r)(%[memory]), %%" register "\\r\n\t"              \
  ".endr\n\t"
#define FOUR_STORES(register, step)            \
  ".irp r,0,1,2,3\n\t"                         \
  "vmovups %%" register "0, (" step            \
                        "*\\r)(%[memory])\n\t" \
                        ".endr\n\t"

CORE(Load32, "", REPEAT(20, FOUR_LOADS("ymm", "32")), "vzeroupper\n\t")
CORE(Load64, "", REPEAT(20, FOUR_LOADS("zmm", "64")), "vzeroupper\n\t")
CORE(Store32, ZERO, REPEAT(20, FOUR_STORES("ymm", "32")), "vzeroupper\n\t")
CORE(Store64, ZERO, REPEAT(20, FOUR_STORES("zmm", "64")), "vzeroupper\n\t")

// ---- The list ----------------------------------------------------------------------------------

// The contents of the memory do not matter.
void PrepareMemory(const Probe&, ProbeBuffers& b, Fill, std::uint64_t) {
  std::memset(b.memory.get(), 0x55, b.working_set);
}

struct Entry {
  const char* name;
  Isa isa;
  int instructions;  // without the loop's own two
  int loads, load_width;
  int stores, store_width;
  int flops;
  void (*run)(ProbeBuffers&, std::int64_t);
};

constexpr Entry kEntries[] = {
    {"core/issue/moves", Isa::kSse2, 120, 0, 0, 0, 0, 0, IssueMoves},
    {"core/issue/memory", Isa::kSse2, 120, 40, 8, 20, 8, 0, IssueMemory},
    {"core/taken", Isa::kSse2, 30, 0, 0, 0, 0, 0, Taken},
    {"core/fp/128", Isa::kAvx2, 128, 0, 0, 0, 0, 64 * 3 * 4, Fp128},
    {"core/fp/256", Isa::kAvx2, 128, 0, 0, 0, 0, 64 * 3 * 8, Fp256},
    {"core/fp/512", Isa::kAvx512, 128, 0, 0, 0, 0, 64 * 3 * 16, Fp512},
    {"core/fp/chain", Isa::kAvx2, 16, 0, 0, 0, 0, 32, Chain},
    {"core/load/8", Isa::kSse2, 120, 120, 8, 0, 0, 0, Load8},
    {"core/load/32", Isa::kAvx2, 80, 80, 32, 0, 0, 0, Load32},
    {"core/load/64", Isa::kAvx512, 80, 80, 64, 0, 0, 0, Load64},
    {"core/store/8", Isa::kSse2, 120, 0, 0, 120, 8, 0, Store8},
    {"core/store/32", Isa::kAvx2, 80, 0, 0, 80, 32, 0, Store32},
    {"core/store/64", Isa::kAvx512, 80, 0, 0, 80, 64, 0, Store64},
    {"core/load_store/8", Isa::kSse2, 120, 80, 8, 40, 8, 0, LoadStore8},
};

}  // namespace

std::vector<Probe> CoreProbes() {
  std::vector<Probe> probes;
  for (const Entry& e : kEntries) {
    ProbeWork work;
    work.flops = e.flops;
    work.instructions = e.instructions + 2;
    work.branches = 1;
    work.loads = e.loads;
    work.bytes_loaded = e.loads * e.load_width;
    work.stores = e.stores;
    work.bytes_stored = e.stores * e.store_width;
    probes.push_back({e.name, ProbeKind::kCore, e.isa, work, PrepareMemory, e.run, std::nullopt});
  }
  return probes;
}

}  // namespace topdnn

#else

namespace topdnn {
std::vector<Probe> CoreProbes() { return {}; }
}  // namespace topdnn

#endif
