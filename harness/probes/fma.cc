// Multiply-add throughput by vector ISA and type, in two forms. `registers`: 12 (SSE2: 8)
// independent accumulators and two constant operands; the highest rate of the units, at the clock
// that constant data allow. `l1`: the inner loop of a GEMM: a block of accumulators, columns loaded
// as vectors and rows broadcast from packed panels of real data in L1. This is what a kernel can
// reach, so stages are compared with it.
//
// Blocks are 14x2 with 32 registers (AVX-512) and 6x2 with 16 (AVX2), as in BLIS and OpenBLAS: 16
// loads for 28 multiply-adds, and 8 for 12, which two loads per cycle can supply. They have more
// accumulators than latency times throughput (4 x 2). The code is assembly, so that no compiler
// reorders or spills and every instruction is known. The assembler accepts all ISAs, so no file
// needs compiler flags.

#if defined(__x86_64__)

#include <fmt/format.h>

#include "harness/probes/catalogue.h"

namespace topdnn {
namespace {

// Steps per loop of the streamed forms; rounds over the accumulators of the others.
constexpr int kSteps = 4;
constexpr int kRounds = 8;

// One offset, which wraps around, addresses both panels: the step times the bytes of rows per step.
// The offset of the columns is a multiple of it (the scale of the addressing mode).
#define TOPDNN_LOOP(body)     \
  "xor %%ecx, %%ecx\n\t"      \
  ".p2align 5\n"              \
  "1:\n\t" body               \
  "add %[advance], %%rcx\n\t" \
  "and %[mask], %%rcx\n\t"    \
  "sub $1, %[n]\n\t"          \
  "jnz 1b\n\t"

#define TOPDNN_VECTOR_CLOBBERS                                                                   \
  "rcx", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
      "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

// A streamed form: accumulators that begin at zero, the loop over the steps, and the results.
#define TOPDNN_STREAM(name, row_step, accumulators, clear, step, store, end)                    \
  void name(ProbeBuffers& b, std::int64_t n) {                                                  \
    asm volatile(".irp r," accumulators "\n\t" clear ".endr\n\t" TOPDNN_LOOP(                   \
                     ".irp k,0,1,2,3\n\t" step ".endr\n\t") ".irp r," accumulators "\n\t" store \
                                                            ".endr\n\t" end                     \
                 : [n] "+r"(n)                                                                  \
                 : [rows] "r"(b.rows.get()), [columns] "r"(b.columns.get()),                    \
                   [results] "r"(b.results.get()), [advance] "i"(kSteps * (row_step)),          \
                   [mask] "i"(kPanelSteps * (row_step)-1)                                       \
                 : TOPDNN_VECTOR_CLOBBERS);                                                     \
  }

// ---- AVX-512, 14x2 -----------------------------------------------------------------------------

// One row: a broadcast, and a multiply-add into each of its two accumulators. `\k` is the step.
#define ROW14(row, first, second, row_step, bytes, broadcast, fma)                     \
  broadcast " (" #row_step "*\\k+" #row "*" #bytes ")(%[rows],%%rcx), %%zmm30\n\t" fma \
            " %%zmm28, %%zmm30, %%zmm" #first "\n\t" fma " %%zmm29, %%zmm30, %%zmm" #second "\n\t"

// clang-format off: it would join some of these lines, others at each run
#define ROWS14(...)              \
  ROW14(0, 0, 1, __VA_ARGS__)    \
  ROW14(1, 2, 3, __VA_ARGS__)    \
  ROW14(2, 4, 5, __VA_ARGS__)    \
  ROW14(3, 6, 7, __VA_ARGS__)    \
  ROW14(4, 8, 9, __VA_ARGS__)    \
  ROW14(5, 10, 11, __VA_ARGS__)  \
  ROW14(6, 12, 13, __VA_ARGS__)  \
  ROW14(7, 14, 15, __VA_ARGS__)  \
  ROW14(8, 16, 17, __VA_ARGS__)  \
  ROW14(9, 18, 19, __VA_ARGS__)  \
  ROW14(10, 20, 21, __VA_ARGS__) \
  ROW14(11, 22, 23, __VA_ARGS__) \
  ROW14(12, 24, 25, __VA_ARGS__) \
  ROW14(13, 26, 27, __VA_ARGS__)
// clang-format on

#define STREAM_AVX512(name, row_step, scale, ...)                                            \
  TOPDNN_STREAM(name, row_step,                                                              \
                "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27", \
                "vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r\n\t",                                   \
                "vmovups (128*\\k)(%[columns],%%rcx," #scale                                 \
                "), %%zmm28\n\t"                                                             \
                "vmovups (128*\\k+64)(%[columns],%%rcx," #scale                              \
                "), %%zmm29\n\t" ROWS14(row_step, __VA_ARGS__),                              \
                "vmovups %%zmm\\r, (64*\\r)(%[results])\n\t", "vzeroupper\n\t")

// The bytes of rows per step, the scale of the columns' offset, the bytes of a row's value.
STREAM_AVX512(StreamAvx512F32, 64, 2, 4, "vbroadcastss", "vfmadd231ps")
STREAM_AVX512(StreamAvx512Bf16, 64, 2, 4, "vpbroadcastd", "vdpbf16ps")
STREAM_AVX512(StreamAvx512S8, 64, 2, 4, "vpbroadcastd", "vpdpbusd")
STREAM_AVX512(StreamAvx512F16, 64, 2, 2, "vpbroadcastw", "vfmadd231ph")
STREAM_AVX512(StreamAvx512F64, 128, 1, 8, "vbroadcastsd", "vfmadd231pd")

// ---- AVX2, 6x2 ---------------------------------------------------------------------------------

#define ROW6(row, first, second, row_step, bytes, broadcast, fma)                      \
  broadcast " (" #row_step "*\\k+" #row "*" #bytes ")(%[rows],%%rcx), %%ymm14\n\t" fma \
            " %%ymm12, %%ymm14, %%ymm" #first "\n\t" fma " %%ymm13, %%ymm14, %%ymm" #second "\n\t"

// clang-format off: it would join some of these lines, others at each run
#define ROWS6(...)           \
  ROW6(0, 0, 1, __VA_ARGS__) \
  ROW6(1, 2, 3, __VA_ARGS__) \
  ROW6(2, 4, 5, __VA_ARGS__) \
  ROW6(3, 6, 7, __VA_ARGS__) \
  ROW6(4, 8, 9, __VA_ARGS__) \
  ROW6(5, 10, 11, __VA_ARGS__)
// clang-format on

#define STREAM_AVX2(name, row_step, scale, ...)                \
  TOPDNN_STREAM(name, row_step, "0,1,2,3,4,5,6,7,8,9,10,11",   \
                "vxorps %%ymm\\r, %%ymm\\r, %%ymm\\r\n\t",     \
                "vmovups (64*\\k)(%[columns],%%rcx," #scale    \
                "), %%ymm12\n\t"                               \
                "vmovups (64*\\k+32)(%[columns],%%rcx," #scale \
                "), %%ymm13\n\t" ROWS6(row_step, __VA_ARGS__), \
                "vmovups %%ymm\\r, (32*\\r)(%[results])\n\t", "vzeroupper\n\t")

STREAM_AVX2(StreamAvx2F32, 32, 2, 4, "vbroadcastss", "vfmadd231ps")
STREAM_AVX2(StreamAvx2F64, 64, 1, 8, "vbroadcastsd", "vfmadd231pd")

// ---- SSE2, 8x1: no FMA, no broadcast load; rows are stored four times --------------------------

#define ROW8(row)                \
  "movaps (128*\\k+16*" #row     \
  ")(%[rows],%%rcx), %%xmm9\n\t" \
  "mulps %%xmm8, %%xmm9\n\t"     \
  "addps %%xmm9, %%xmm" #row "\n\t"

TOPDNN_STREAM(StreamSse2F32, 128, "0,1,2,3,4,5,6,7", "xorps %%xmm\\r, %%xmm\\r\n\t",
              "movaps (128*\\k)(%[columns],%%rcx), %%xmm8\n\t" ROW8(0) ROW8(1) ROW8(2) ROW8(3)
                  ROW8(4) ROW8(5) ROW8(6) ROW8(7),
              "movaps %%xmm\\r, (16*\\r)(%[results])\n\t", "")

// ---- Operands in registers ---------------------------------------------------------------------

// `load` loads the two operands; `step` is that of an accumulator.
#define TOPDNN_REGISTERS(name, accumulators, clear, load, step, store, end)  \
  void name(ProbeBuffers& b, std::int64_t n) {                               \
    asm volatile(".irp r," accumulators "\n\t" clear ".endr\n\t" load        \
                 ".p2align 5\n"                                              \
                 "1:\n\t"                                                    \
                 ".rept %c[rounds]\n\t"                                      \
                 ".irp r," accumulators "\n\t" step                          \
                 ".endr\n\t"                                                 \
                 ".endr\n\t"                                                 \
                 "sub $1, %[n]\n\t"                                          \
                 "jnz 1b\n\t"                                                \
                 ".irp r," accumulators "\n\t" store ".endr\n\t" end         \
                 : [n] "+r"(n)                                               \
                 : [rows] "r"(b.rows.get()), [columns] "r"(b.columns.get()), \
                   [results] "r"(b.results.get()), [rounds] "i"(kRounds)     \
                 : TOPDNN_VECTOR_CLOBBERS);                                  \
  }

#define REGISTERS(name, register, fma, load)                                                     \
  TOPDNN_REGISTERS(name, "0,1,2,3,4,5,6,7,8,9,10,11", "vxorps %%ymm\\r, %%ymm\\r, %%ymm\\r\n\t", \
                   load " (%[rows]), %%" register "12\n\t" load                                  \
                                                  " (%[columns]), %%" register "13\n\t",         \
                   fma " %%" register "13, %%" register "12, %%" register "\\r\n\t",             \
                   "vmovups %%" register "\\r, (64*\\r)(%[results])\n\t", "vzeroupper\n\t")

REGISTERS(RegistersAvx2F32, "ymm", "vfmadd231ps", "vbroadcastss")
REGISTERS(RegistersAvx2F64, "ymm", "vfmadd231pd", "vbroadcastsd")
REGISTERS(RegistersAvx512F32, "zmm", "vfmadd231ps", "vbroadcastss")
REGISTERS(RegistersAvx512F64, "zmm", "vfmadd231pd", "vbroadcastsd")
REGISTERS(RegistersAvx512Bf16, "zmm", "vdpbf16ps", "vpbroadcastd")
REGISTERS(RegistersAvx512S8, "zmm", "vpdpbusd", "vpbroadcastd")
REGISTERS(RegistersAvx512F16, "zmm", "vfmadd231ph", "vpbroadcastw")

// mulps overwrites an operand, so each accumulator takes a copy, a multiplication and an addition.
TOPDNN_REGISTERS(RegistersSse2F32, "0,1,2,3,4,5,6,7", "xorps %%xmm\\r, %%xmm\\r\n\t",
                 "movss (%[rows]), %%xmm8\n\t"
                 "shufps $0, %%xmm8, %%xmm8\n\t"
                 "movss (%[columns]), %%xmm9\n\t"
                 "shufps $0, %%xmm9, %%xmm9\n\t",
                 "movaps %%xmm8, %%xmm10\n\t"
                 "mulps %%xmm9, %%xmm10\n\t"
                 "addps %%xmm10, %%xmm\\r\n\t",
                 "movaps %%xmm\\r, (64*\\r)(%[results])\n\t", "")

// ---- The list ----------------------------------------------------------------------------------

struct Entry {
  Isa isa;
  const char* type;
  int vector_bytes;
  int accumulator_bytes;
  int depth;
  int row_step;
  int rows;
  int columns;
  void (*streamed)(ProbeBuffers&, std::int64_t);
  void (*registers)(ProbeBuffers&, std::int64_t);
};

constexpr Entry kEntries[] = {
    {Isa::kSse2, "f32", 16, 4, 1, 128, 8, 1, StreamSse2F32, RegistersSse2F32},
    {Isa::kAvx2, "f32", 32, 4, 1, 32, 6, 2, StreamAvx2F32, RegistersAvx2F32},
    {Isa::kAvx2, "f64", 32, 8, 1, 64, 6, 2, StreamAvx2F64, RegistersAvx2F64},
    {Isa::kAvx512, "f32", 64, 4, 1, 64, 14, 2, StreamAvx512F32, RegistersAvx512F32},
    {Isa::kAvx512, "f64", 64, 8, 1, 128, 14, 2, StreamAvx512F64, RegistersAvx512F64},
    {Isa::kAvx512Bf16, "bf16", 64, 4, 2, 64, 14, 2, StreamAvx512Bf16, RegistersAvx512Bf16},
    {Isa::kAvx512Vnni, "s8", 64, 4, 4, 64, 14, 2, StreamAvx512S8, RegistersAvx512S8},
    {Isa::kAvx512Fp16, "f16", 64, 2, 1, 64, 14, 2, StreamAvx512F16, RegistersAvx512F16},
};

Probe StreamedProbe(const Entry& e) {
  const bool sse = e.isa == Isa::kSse2;
  const int lanes = e.vector_bytes / e.accumulator_bytes;
  const int products = e.rows * e.columns;
  const int per_product = sse ? 2 : 1;  // multiply and add are separate
  ProbeWork work;
  work.flops = 2.0 * products * lanes * e.depth * kSteps;
  work.loads = (e.rows + e.columns) * kSteps;
  work.bytes_loaded =
      kSteps * (e.columns * e.vector_bytes + e.rows * (sse ? e.vector_bytes : e.accumulator_bytes));
  work.instructions = kSteps * (e.rows + e.columns + per_product * products) + 4;
  work.branches = 1;
  return {fmt::format("fma/{}/{}/l1", NameOf(e.isa), e.type),
          ProbeKind::kFma,
          e.isa,
          work,
          PreparePanels,
          e.streamed,
          FmaShape{e.type, true, e.rows, e.columns, lanes, e.depth, kSteps, e.row_step,
                   sse ? e.row_step : e.columns * e.vector_bytes, sse}};
}

Probe RegistersProbe(const Entry& e) {
  const bool sse = e.isa == Isa::kSse2;
  const int lanes = e.vector_bytes / e.accumulator_bytes;
  const int accumulators = sse ? 8 : 12;
  ProbeWork work;
  work.flops = 2.0 * accumulators * lanes * e.depth * kRounds;
  work.instructions = kRounds * accumulators * (sse ? 3 : 1) + 2;
  work.branches = 1;
  return {fmt::format("fma/{}/{}/registers", NameOf(e.isa), e.type),
          ProbeKind::kFma,
          e.isa,
          work,
          PreparePanels,
          e.registers,
          FmaShape{e.type, false, accumulators, 1, lanes, e.depth, kRounds, e.row_step, 0, sse}};
}

}  // namespace

std::vector<Probe> FmaProbes() {
  std::vector<Probe> probes;
  for (const Entry& entry : kEntries) {
    probes.push_back(RegistersProbe(entry));
    probes.push_back(StreamedProbe(entry));
  }
  return probes;
}

}  // namespace topdnn

#elif !defined(__aarch64__)  // harness/probes/fma_arm64.cc

#include "harness/probes/catalogue.h"

namespace topdnn {
std::vector<Probe> FmaProbes() { return {}; }
}  // namespace topdnn

#endif
