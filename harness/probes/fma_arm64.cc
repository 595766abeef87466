// The multiply-adds of harness/probes/fma.cc for arm64: NEON, and SVE with vectors of up to 64
// bytes, which no CPU exceeds. `registers`: 16 independent accumulators, enough for four units of
// latency 4. `l1`: blocks of 8x2 vectors (NEON's f64: 4x4), also 16 accumulators. NEON multiplies
// by one element of a vector of rows, as OpenBLAS and BLIS do; SVE broadcasts each row in its load.

#if defined(__aarch64__)

#include <fmt/format.h>
#include <sys/prctl.h>

#include "harness/probes/catalogue.h"

namespace topdnn {
namespace {

constexpr int kSteps = 4;
constexpr int kRounds = 8;
constexpr int kAccumulators = 16;
// Of a streamed form: the two addresses, the offset of the rows and its mask, the count, the
// branch.
constexpr int kNeonOverhead = 6;
// Also the offset of the columns, a multiple of the length of the vectors.
constexpr int kSveOverhead = 7;
constexpr int kMaxSveBytes = 64;

#define EACH_ACCUMULATOR(body) \
  ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t" body "\n\t.endr\n\t"

// A clobbered v register is the whole z register to a compiler for SVE. Another one keeps nothing
// in the rest of it.
#define VECTOR_CLOBBERS                                                                       \
  "x9", "x10", "x11", "x12", "x13", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", \
      "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", \
      "v20", "v21", "p0"

#define LOOP(addresses, step)                                    \
  "mov x9, #0\n\t"                                               \
  ".p2align 5\n"                                                 \
  "1:\n\t"                                                       \
  "add x10, %[rows], x9\n\t" addresses ".irp k,0,1,2,3\n\t" step \
  ".endr\n\t"                                                    \
  "add x9, x9, %[advance]\n\t"                                   \
  "and x9, x9, %[mask]\n\t"                                      \
  "subs %[n], %[n], #1\n\t"                                      \
  "b.ne 1b\n\t"

#define STREAM(name, row_step, code)                                                   \
  void name(ProbeBuffers& b, std::int64_t n) {                                         \
    asm volatile(code                                                                  \
                 : [n] "+r"(n)                                                         \
                 : [rows] "r"(b.rows.get()), [columns] "r"(b.columns.get()),           \
                   [results] "r"(b.results.get()), [advance] "i"(kSteps * (row_step)), \
                   [mask] "i"(kPanelSteps * (row_step)-1)                              \
                 : VECTOR_CLOBBERS);                                                   \
  }

// ---- NEON --------------------------------------------------------------------------------------

#define NEON(addresses, step)              \
  EACH_ACCUMULATOR("movi v\\r\\().2d, #0") \
  LOOP(addresses, step) EACH_ACCUMULATOR("str q\\r, [%[results], #(16*\\r)]")

// One row: element `lane` of register `v`, times the two vectors of columns.
#define NEON_ROW2(v, lane, first, second)         \
  "fmla v" #first ".4s, v16.4s, v" #v ".s[" #lane \
  "]\n\t"                                         \
  "fmla v" #second ".4s, v17.4s, v" #v ".s[" #lane "]\n\t"

STREAM(StreamNeonF32, 32,
       NEON("add x11, %[columns], x9\n\t",
            "ldr q16, [x11, #(32*\\k)]\n\t"
            "ldr q17, [x11, #(32*\\k+16)]\n\t"
            "ldr q18, [x10, #(32*\\k)]\n\t"
            "ldr q19, [x10, #(32*\\k+16)]\n\t" NEON_ROW2(18, 0, 0, 1) NEON_ROW2(18, 1, 2, 3)
                NEON_ROW2(18, 2, 4, 5) NEON_ROW2(18, 3, 6, 7) NEON_ROW2(19, 0, 8, 9)
                    NEON_ROW2(19, 1, 10, 11) NEON_ROW2(19, 2, 12, 13) NEON_ROW2(19, 3, 14, 15)))

#define NEON_ROW4(v, lane, a, b, c, d)        \
  "fmla v" #a ".2d, v16.2d, v" #v ".d[" #lane \
  "]\n\t"                                     \
  "fmla v" #b ".2d, v17.2d, v" #v ".d[" #lane \
  "]\n\t"                                     \
  "fmla v" #c ".2d, v18.2d, v" #v ".d[" #lane \
  "]\n\t"                                     \
  "fmla v" #d ".2d, v19.2d, v" #v ".d[" #lane "]\n\t"

// (Rows have the same step as the columns, and use half of it.)
STREAM(StreamNeonF64, 64,
       NEON("add x11, %[columns], x9\n\t",
            "ldr q16, [x11, #(64*\\k)]\n\t"
            "ldr q17, [x11, #(64*\\k+16)]\n\t"
            "ldr q18, [x11, #(64*\\k+32)]\n\t"
            "ldr q19, [x11, #(64*\\k+48)]\n\t"
            "ldr q20, [x10, #(64*\\k)]\n\t"
            "ldr q21, [x10, #(64*\\k+16)]\n\t" NEON_ROW4(20, 0, 0, 1, 2, 3)
                NEON_ROW4(20, 1, 4, 5, 6, 7) NEON_ROW4(21, 0, 8, 9, 10, 11)
                    NEON_ROW4(21, 1, 12, 13, 14, 15)))

// ---- SVE ---------------------------------------------------------------------------------------

#if defined(__ARM_FEATURE_SVE)  // the rest of the file may have instructions of SVE, too
#define SVE_ON ""
#define SVE_OFF ""
#else
#define SVE_ON ".arch_extension sve\n\t"
#define SVE_OFF ".arch_extension nosve\n\t"
#endif

#define SVE(shift, step)                                                                \
  SVE_ON                                                                                \
  "ptrue p0.b\n\t"                                                                      \
  "cntb x12, all, mul #2\n\t" /* bytes of columns per step */                           \
      EACH_ACCUMULATOR("mov z\\r\\().d, #0") LOOP("lsr x13, x9, #" shift                \
                                                  "\n\t"                                \
                                                  "madd x11, x13, x12, %[columns]\n\t", \
                                                  step)                                 \
          EACH_ACCUMULATOR("str z\\r, [%[results], #\\r, mul vl]") SVE_OFF

// One row: a broadcast, and a multiply-add into each of its two accumulators.
#define SVE_ROW(type, load, row, bytes, first, second)                  \
  load " {z18." type "}, p0/z, [x10, #(8*" bytes "*\\k+" #row "*" bytes \
       ")]\n\t"                                                         \
       "fmla z" #first "." type ", p0/m, z16." type ", z18." type       \
       "\n\t"                                                           \
       "fmla z" #second "." type ", p0/m, z17." type ", z18." type "\n\t"

#define SVE_STEP(type, columns, load, bytes)                                                      \
  columns " {z16." type "}, p0/z, [x11, #(2*\\k), mul vl]\n\t" columns " {z17." type              \
          "}, p0/z, [x11, #(2*\\k+1), mul vl]\n\t" SVE_ROW(type, load, 0, bytes, 0, 1)            \
              SVE_ROW(type, load, 1, bytes, 2, 3) SVE_ROW(type, load, 2, bytes, 4, 5)             \
                  SVE_ROW(type, load, 3, bytes, 6, 7) SVE_ROW(type, load, 4, bytes, 8, 9)         \
                      SVE_ROW(type, load, 5, bytes, 10, 11) SVE_ROW(type, load, 6, bytes, 12, 13) \
                          SVE_ROW(type, load, 7, bytes, 14, 15)

STREAM(StreamSveF32, 32, SVE("5", SVE_STEP("s", "ld1w", "ld1rw", "4")))
STREAM(StreamSveF64, 64, SVE("6", SVE_STEP("d", "ld1d", "ld1rd", "8")))

// ---- Operands in registers ---------------------------------------------------------------------

#define REGISTERS(name, before, clear, load_rows, load_columns, fma, store, after)   \
  void name(ProbeBuffers& b, std::int64_t n) {                                       \
    asm volatile(before EACH_ACCUMULATOR(clear)                                    \
                 load_rows "\n\t" load_columns "\n\t"                              \
                 ".p2align 5\n"                                                    \
                 "1:\n\t"                                                          \
                 ".rept %c[rounds]\n\t" EACH_ACCUMULATOR(fma)                      \
                 ".endr\n\t"                                                       \
                 "subs %[n], %[n], #1\n\t"                                         \
                 "b.ne 1b\n\t"                                                     \
                 "mov x9, %[results]\n\t"                                          \
                 EACH_ACCUMULATOR(store "\n\tadd x9, x9, #64") after               \
                 : [n] "+r"(n)                                                     \
                 : [rows] "r"(b.rows.get()), [columns] "r"(b.columns.get()),       \
                   [results] "r"(b.results.get()), [rounds] "i"(kRounds)           \
                 : VECTOR_CLOBBERS); \
  }

REGISTERS(RegistersNeonF32, "", "movi v\\r\\().2d, #0", "ld1r {v16.4s}, [%[rows]]",
          "ld1r {v17.4s}, [%[columns]]", "fmla v\\r\\().4s, v16.4s, v17.4s", "str q\\r, [x9]", "")
REGISTERS(RegistersNeonF64, "", "movi v\\r\\().2d, #0", "ld1r {v16.2d}, [%[rows]]",
          "ld1r {v17.2d}, [%[columns]]", "fmla v\\r\\().2d, v16.2d, v17.2d", "str q\\r, [x9]", "")
REGISTERS(RegistersSveF32, SVE_ON "ptrue p0.b\n\t", "mov z\\r\\().d, #0",
          "ld1rw {z16.s}, p0/z, [%[rows]]", "ld1rw {z17.s}, p0/z, [%[columns]]",
          "fmla z\\r\\().s, p0/m, z16.s, z17.s", "str z\\r, [x9]", SVE_OFF)
REGISTERS(RegistersSveF64, SVE_ON "ptrue p0.b\n\t", "mov z\\r\\().d, #0",
          "ld1rd {z16.d}, p0/z, [%[rows]]", "ld1rd {z17.d}, p0/z, [%[columns]]",
          "fmla z\\r\\().d, p0/m, z16.d, z17.d", "str z\\r, [x9]", SVE_OFF)

// ---- The list ----------------------------------------------------------------------------------

struct Entry {
  Isa isa;
  const char* type;
  int element_bytes;
  int row_step;
  int rows;
  int columns;
  int loads;  // per step
  void (*streamed)(ProbeBuffers&, std::int64_t);
  void (*registers)(ProbeBuffers&, std::int64_t);
};

constexpr Entry kEntries[] = {
    {Isa::kNeon, "f32", 4, 32, 8, 2, 4, StreamNeonF32, RegistersNeonF32},
    {Isa::kNeon, "f64", 8, 64, 4, 4, 6, StreamNeonF64, RegistersNeonF64},
    {Isa::kSve, "f32", 4, 32, 8, 2, 10, StreamSveF32, RegistersSveF32},
    {Isa::kSve, "f64", 8, 64, 8, 2, 10, StreamSveF64, RegistersSveF64},
};

// Bytes of an SVE vector in this process (Linux, Documentation/arch/arm64/sve.rst); 16 without SVE.
int SveBytes() {
  constexpr int kLengthMask = 0xFFFF;  // PR_SVE_VL_LEN_MASK
  constexpr int kGetLength = 51;       // PR_SVE_GET_VL
  const int answer = prctl(kGetLength);
  return answer < 0 ? 16 : answer & kLengthMask;
}

Probe StreamedProbe(const Entry& e, int vector_bytes) {
  const int lanes = vector_bytes / e.element_bytes;
  ProbeWork work;
  work.flops = 2.0 * kAccumulators * lanes * kSteps;
  work.loads = e.loads * kSteps;
  work.bytes_loaded = kSteps * (e.columns * vector_bytes + e.rows * e.element_bytes);
  work.instructions =
      kSteps * (e.loads + kAccumulators) + (e.isa == Isa::kSve ? kSveOverhead : kNeonOverhead);
  work.branches = 1;
  return {fmt::format("fma/{}/{}/l1", NameOf(e.isa), e.type),
          ProbeKind::kFma,
          e.isa,
          work,
          PreparePanels,
          e.streamed,
          FmaShape{e.type, true, e.rows, e.columns, lanes, 1, kSteps, e.row_step,
                   e.columns * vector_bytes}};
}

Probe RegistersProbe(const Entry& e, int vector_bytes) {
  const int lanes = vector_bytes / e.element_bytes;
  ProbeWork work;
  work.flops = 2.0 * kAccumulators * lanes * kRounds;
  work.instructions = kRounds * kAccumulators + 2;
  work.branches = 1;
  return {fmt::format("fma/{}/{}/registers", NameOf(e.isa), e.type),
          ProbeKind::kFma,
          e.isa,
          work,
          PreparePanels,
          e.registers,
          FmaShape{e.type, false, kAccumulators, 1, lanes, 1, kRounds, e.row_step, 0}};
}

}  // namespace

std::vector<Probe> FmaProbes() {
  const int sve_bytes = SveBytes();
  std::vector<Probe> probes;
  for (const Entry& entry : kEntries) {
    const int bytes = entry.isa == Isa::kSve ? sve_bytes : 16;
    if (bytes > kMaxSveBytes) continue;
    probes.push_back(RegistersProbe(entry, bytes));
    probes.push_back(StreamedProbe(entry, bytes));
  }
  return probes;
}

}  // namespace topdnn

#endif
