// The operands of the multiply-add probes: a panel of rows and a panel of columns, packed as in a
// GEMM. In the second half of a pass the rows are those of the first half, negated, and the columns
// those of the first half. So the sums return to about zero in each pass. Otherwise an accumulator
// would grow until additions no longer change it (or overflow, in f16). The units would then use
// less power, and the ceiling would be too high. Whole numbers, and rows without a sign, do not
// cancel.

#include <bit>
#include <cstring>
#include <random>

#include "harness/probes/catalogue.h"

namespace topdnn {
namespace {

std::uint16_t ToBf16(float value) {
  // Round to nearest even on the upper half (no NaN comes here).
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// IEEE binary16 of a value with |value| in [2^-14, 65504] or 0; smaller values become 0.
std::uint16_t ToF16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::int32_t exponent = static_cast<std::int32_t>(bits >> 23 & 0xFF) - 127 + 15;
  if (exponent <= 0) return static_cast<std::uint16_t>(sign);
  const std::uint32_t magnitude = (static_cast<std::uint32_t>(exponent) << 23 | (bits & 0x7FFFFF));
  return static_cast<std::uint16_t>(sign | (magnitude + 0xFFF + (magnitude >> 13 & 1)) >> 13);
}

std::size_t ElementBytes(const std::string& type) {
  if (type == "f64") return 8;
  if (type == "f32") return 4;
  return type == "s8" ? 1 : 2;
}

void Store(std::byte* place, const std::string& type, float value, bool is_unsigned) {
  if (type == "f64") {
    const double wide = value;
    std::memcpy(place, &wide, sizeof wide);
  } else if (type == "f32") {
    std::memcpy(place, &value, sizeof value);
  } else if (type == "s8") {
    const int whole = static_cast<int>(value);
    *place = static_cast<std::byte>(is_unsigned && whole < 0 ? -whole : whole);
  } else {
    const std::uint16_t half = type == "bf16" ? ToBf16(value) : ToF16(value);
    std::memcpy(place, &half, sizeof half);
  }
}

class Values {
 public:
  Values(Fill fill, std::uint64_t seed, const std::string& type)
      : fill_(fill), generator_(seed), scale_(type == "s8" ? 127.0F : 1.0F) {}
  float Next() {
    if (fill_ == Fill::kWholeNumbers) return static_cast<float>(whole_(generator_));
    return real_(generator_) * scale_;
  }

 private:
  Fill fill_;
  std::mt19937_64 generator_;
  float scale_;
  std::uniform_int_distribution<int> whole_{-2, 2};
  std::uniform_real_distribution<float> real_{-1.0F, 1.0F};
};

}  // namespace

void PreparePanels(const Probe& probe, ProbeBuffers& buffers, Fill fill, std::uint64_t seed) {
  const FmaShape& shape = *probe.fma;
  const std::size_t size = ElementBytes(shape.type);
  const std::size_t count = ProbeBuffers::kPanelBytes / size;
  // AMX and VNNI multiply unsigned rows by signed columns. Their rows cannot be negated, and need
  // not be, because integer sums wrap around.
  const bool unsigned_rows = shape.type == "s8";
  // Bytes of the row panel used in one pass; tiles use all of it.
  const std::size_t pass = (shape.tiles ? ProbeBuffers::kPanelBytes
                                        : static_cast<std::size_t>(shape.row_step) * kPanelSteps) /
                           size;
  Values values(fill, seed, shape.type);
  const std::size_t group =
      static_cast<std::size_t>(shape.rows_replicated ? shape.lanes : 1);  // copies of each value
  std::vector<float> half(pass / 2);
  for (std::size_t i = 0; i < half.size(); ++i)
    half[i] = i % group == 0 ? values.Next() : half[i - 1];
  // Elements of the column panel used in one pass. Tiles use all; without a step, all are one pass.
  const std::size_t column_pass =
      shape.tiles || shape.column_step == 0
          ? count
          : static_cast<std::size_t>(shape.column_step) * kPanelSteps / size;
  // Whole numbers do not repeat, because a check of sums that are all zero would check nothing.
  std::vector<float> columns(fill == Fill::kReals ? column_pass / 2 : count);
  for (float& value : columns) value = values.Next();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = i % pass;
    const float value = place < half.size() ? half[place] : -half[place - half.size()];
    Store(buffers.rows.get() + i * size, shape.type, value, unsigned_rows);
    Store(buffers.columns.get() + i * size, shape.type, columns[i % columns.size()], false);
  }
  std::memset(buffers.results.get(), 0, ProbeBuffers::kResultBytes);
  buffers.position = 0;
}

}  // namespace topdnn
