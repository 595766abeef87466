#include "bench/ranks/buckets.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/tensor/bf16.h"

namespace topdnn {

namespace {

// The exponent of NaN and infinity.
constexpr std::uint32_t kNotFinite = 0x7f800000;

// (integer arithmetic, so that the compiler can use vector instructions)
bool AllFinite(std::span<const float> values) {
  std::uint32_t bad = 0;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    bad |= static_cast<std::uint32_t>((bits & kNotFinite) == kNotFinite);
  }
  return bad == 0;
}

}  // namespace

std::string Bucket::Name() const {
  std::string name;
  for (const GradientBlock& block : blocks) name += (name.empty() ? "" : " ") + block.layer;
  return name;
}

std::vector<Bucket> MakeBuckets(std::vector<GradientBlock> blocks, std::int64_t most_bytes,
                                Wire wire) {
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const auto& a, const auto& b) { return a.last_stage < b.last_stage; });
  std::vector<Bucket> buckets;
  for (GradientBlock& block : blocks) {
    const bool fits = !buckets.empty() &&
                      (buckets.back().elements + block.elements) * BytesOf(wire) <= most_bytes;
    if (!fits) buckets.emplace_back();
    buckets.back().elements += block.elements;
    buckets.back().last_stage = block.last_stage;
    buckets.back().blocks.push_back(std::move(block));
  }
  return buckets;
}

bool PackGradients(const Bucket& bucket, Wire wire, void* wire_memory) {
  bool finite = true;
  std::int64_t at = 0;
  for (const GradientBlock& block : bucket.blocks) {
    finite = AllFinite({block.data, static_cast<std::size_t>(block.elements)}) && finite;
    if (wire == Wire::kF32) {
      std::copy_n(block.data, block.elements, static_cast<float*>(wire_memory) + at);
    } else {
      std::transform(block.data, block.data + block.elements,
                     static_cast<std::uint16_t*>(wire_memory) + at, Bf16FromFloat);
    }
    at += block.elements;
  }
  return finite;
}

void UnpackGradients(const Bucket& bucket, Wire wire, const void* wire_memory, float factor) {
  std::int64_t at = 0;
  for (const GradientBlock& block : bucket.blocks) {
    for (std::int64_t i = 0; i < block.elements; ++i) {
      const float sum = wire == Wire::kF32
                            ? static_cast<const float*>(wire_memory)[at + i]
                            : Bf16ToFloat(static_cast<const std::uint16_t*>(wire_memory)[at + i]);
      block.data[i] = sum * factor;
    }
    at += block.elements;
  }
}

}  // namespace topdnn
