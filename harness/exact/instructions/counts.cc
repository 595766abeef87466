#include "harness/exact/instructions/counts.h"

namespace topdnn {

static_assert(sizeof(Tally) % sizeof(std::uint64_t) == 0, "Add sums it as an array of counts");

void Tally::Add(const Tally& other, std::uint64_t times) {
  auto* to = reinterpret_cast<std::uint64_t*>(this);
  const auto* from = reinterpret_cast<const std::uint64_t*>(&other);
  for (std::size_t i = 0; i < sizeof(Tally) / sizeof(std::uint64_t); ++i) to[i] += from[i] * times;
}

std::uint64_t ExactCounts::flops() const {
  constexpr std::uint64_t kBits[kFpWidths] = {0, 128, 256, 512};
  constexpr std::uint64_t kElementBits[kFpElements] = {32, 64, 16};
  std::uint64_t sum = x87 + amx_bf16_flops;
  for (int e = 0; e < kFpElements; ++e) {
    sum += fp[e][kScalar];
    for (int w = kPacked128; w < kFpWidths; ++w) sum += fp[e][w] * (kBits[w] / kElementBits[e]);
  }
  // Each 32-bit lane multiplies and adds two pairs.
  for (int w = kPacked128; w < kFpWidths; ++w) sum += bf16_dot[w] * (kBits[w] / 32) * 4;
  return sum;
}

}  // namespace topdnn
