// Multiply-add throughput of AMX with four 16x16 accumulator tiles, two tiles of rows and two of
// columns, the blocking of oneDNN's and Intel's GEMMs. A tile multiplication takes 16 cycles and a
// tile load 8 (Intel Optimization Reference Manual, section 20.5), so the four loads of a step run
// in parallel with its four multiplications. Intel SDM volume 2: TDPBF16PS, TDPBUSD, TILELOADD,
// LDTILECFG.

#include "harness/probes/catalogue.h"

#if defined(__x86_64__)

#include <fmt/format.h>

namespace topdnn {
namespace {

// Palette 1; every tile has 16 rows of 64 bytes.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

constexpr TileConfiguration kConfiguration;
constexpr std::int64_t kStride = 64;
constexpr int kTileBytes = 1024;
constexpr int kSteps = 4;  // two 1 KiB tiles from each 8 KiB panel per step: the whole panel
static_assert(kSteps * 2 * kTileBytes == ProbeBuffers::kPanelBytes);

#define TILES_BEGIN                \
  "ldtilecfg %[configuration]\n\t" \
  "tilezero %%tmm0\n\t"            \
  "tilezero %%tmm1\n\t"            \
  "tilezero %%tmm2\n\t"            \
  "tilezero %%tmm3\n\t"

#define TILES_LOAD(k)                       \
  "tileloadd (2048*" k                      \
  ")(%[rows],%[stride],1), %%tmm4\n\t"      \
  "tileloadd (2048*" k                      \
  ")(%[columns],%[stride],1), %%tmm6\n\t"   \
  "tileloadd (2048*" k                      \
  "+1024)(%[rows],%[stride],1), %%tmm5\n\t" \
  "tileloadd (2048*" k "+1024)(%[columns],%[stride],1), %%tmm7\n\t"

// In AT&T order: columns, rows, accumulator.
#define TILES_MULTIPLY(multiply)                                                         \
  multiply " %%tmm6, %%tmm4, %%tmm0\n\t" multiply " %%tmm7, %%tmm4, %%tmm1\n\t" multiply \
           " %%tmm6, %%tmm5, %%tmm2\n\t" multiply " %%tmm7, %%tmm5, %%tmm3\n\t"

#define TILES_END                                       \
  "sub $1, %[n]\n\t"                                    \
  "jnz 1b\n\t"                                          \
  "tilestored %%tmm0, (%[results],%[stride],1)\n\t"     \
  "tilestored %%tmm1, 1024(%[results],%[stride],1)\n\t" \
  "tilestored %%tmm2, 2048(%[results],%[stride],1)\n\t" \
  "tilestored %%tmm3, 3072(%[results],%[stride],1)\n\t" \
  "tilerelease\n\t"

#define TILES(name, before, body)                                            \
  void name(ProbeBuffers& b, std::int64_t n) {                               \
    asm volatile(TILES_BEGIN before                                          \
                 "1:\n\t"                                                    \
                 ".irp k,0,1,2,3\n\t" body ".endr\n\t" TILES_END             \
                 : [n] "+r"(n)                                               \
                 : [rows] "r"(b.rows.get()), [columns] "r"(b.columns.get()), \
                   [results] "r"(b.results.get()), [stride] "r"(kStride),    \
                   [configuration] "m"(kConfiguration)                       \
                 : "cc", "memory");                                          \
  }

TILES(StreamAmxBf16, "", TILES_LOAD("\\k") TILES_MULTIPLY("tdpbf16ps"))
TILES(StreamAmxInt8, "", TILES_LOAD("\\k") TILES_MULTIPLY("tdpbusd"))
TILES(RegistersAmxBf16, TILES_LOAD("0"), TILES_MULTIPLY("tdpbf16ps"))
TILES(RegistersAmxInt8, TILES_LOAD("0"), TILES_MULTIPLY("tdpbusd"))

Probe MakeProbe(Isa isa, const char* type, int depth, bool streamed,
                void (*run)(ProbeBuffers&, std::int64_t)) {
  ProbeWork work;
  work.flops = 2.0 * kSteps * 4 * 16 * 16 * 16 * depth;
  work.loads = streamed ? 4 * kSteps : 0;
  work.bytes_loaded = work.loads * kTileBytes;
  work.instructions = kSteps * (streamed ? 8 : 4) + 2;
  work.branches = 1;
  FmaShape shape{type, streamed, 2, 2, 256, depth, kSteps, 2 * kTileBytes, 2 * kTileBytes};
  shape.tiles = true;
  return {fmt::format("fma/{}/{}/{}", NameOf(isa), type, streamed ? "l1" : "registers"),
          ProbeKind::kFma,
          isa,
          work,
          PreparePanels,
          run,
          shape};
}

}  // namespace

std::vector<Probe> TileProbes() {
  return {MakeProbe(Isa::kAmxBf16, "bf16", 2, false, RegistersAmxBf16),
          MakeProbe(Isa::kAmxBf16, "bf16", 2, true, StreamAmxBf16),
          MakeProbe(Isa::kAmxInt8, "s8", 4, false, RegistersAmxInt8),
          MakeProbe(Isa::kAmxInt8, "s8", 4, true, StreamAmxInt8)};
}

}  // namespace topdnn

#else

namespace topdnn {
std::vector<Probe> TileProbes() { return {}; }
}  // namespace topdnn

#endif
