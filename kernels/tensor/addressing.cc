#include "kernels/tensor/addressing.h"

#include <fmt/format.h>

#include <cctype>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

namespace topdnn {

namespace {

// The sums of one entry of each table, in row-major order.
std::vector<std::int64_t> SumsOf(std::span<const std::vector<std::int64_t>> tables) {
  std::vector<std::int64_t> sums = {0};
  for (const std::vector<std::int64_t>& table : tables) {
    std::vector<std::int64_t> longer;
    longer.reserve(sums.size() * table.size());
    for (const std::int64_t sum : sums) {
      for (const std::int64_t offset : table) longer.push_back(sum + offset);
    }
    sums = std::move(longer);
  }
  return sums;
}

}  // namespace

std::optional<ParsedTag> ParseTag(std::string_view tag) {
  ParsedTag parsed;
  std::vector<bool> seen(tag.size(), false);
  std::vector<bool> blocked(tag.size(), false);
  std::size_t at = 0;
  for (; at < tag.size() && std::isalpha(static_cast<unsigned char>(tag[at])) != 0; ++at) {
    const bool upper = std::isupper(static_cast<unsigned char>(tag[at])) != 0;
    const auto dimension = static_cast<std::size_t>(tag[at] - (upper ? 'A' : 'a'));
    if (dimension >= tag.size() || seen[dimension]) return std::nullopt;
    seen[dimension] = true;
    blocked[dimension] = upper;
    parsed.outer.push_back(static_cast<int>(dimension));
  }
  for (std::size_t d = 0; d < parsed.outer.size(); ++d) {
    if (!seen[d]) return std::nullopt;
  }
  std::vector<bool> has_block(tag.size(), false);
  while (at < tag.size()) {
    std::int64_t size = 0;
    while (at < tag.size() && std::isdigit(static_cast<unsigned char>(tag[at])) != 0) {
      size = size * 10 + (tag[at++] - '0');
      if (size > 4096) return std::nullopt;
    }
    if (at == tag.size() || size < 2) return std::nullopt;
    const auto dimension = static_cast<std::size_t>(tag[at++] - 'a');
    if (dimension >= parsed.outer.size() || !blocked[dimension]) return std::nullopt;
    has_block[dimension] = true;
    parsed.blocks.push_back({static_cast<int>(dimension), size});
  }
  if (parsed.outer.empty() || blocked != has_block) return std::nullopt;
  return parsed;
}

ParsedTag ParsedFor(const std::string& tag, const Shape& shape) {
  if (shape.rank() == 0) return {};
  std::optional<ParsedTag> parsed = ParseTag(tag);
  if (!parsed || static_cast<int>(parsed->outer.size()) != shape.rank()) {
    throw std::invalid_argument(
        fmt::format("layout '{}' does not address a tensor of {}", tag, shape.ToString()));
  }
  return *std::move(parsed);
}

std::vector<std::int64_t> BlocksOf(const ParsedTag& parsed) {
  std::vector<std::int64_t> block(parsed.outer.size(), 1);
  for (const TagBlock& inner : parsed.blocks) block[inner.dimension] *= inner.size;
  return block;
}

Addressing AddressingOf(const std::string& tag, const Shape& shape) {
  const ParsedTag parsed = ParsedFor(tag, shape);
  const std::vector<std::int64_t> block = BlocksOf(parsed);
  const std::size_t rank = block.size();
  Addressing addressing;
  addressing.offset_of.resize(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    addressing.offset_of[d].assign(static_cast<std::size_t>(shape[static_cast<int>(d)]), 0);
  }
  std::int64_t stride = 1;
  std::vector<std::int64_t> divisor(rank, 1);
  for (auto inner = parsed.blocks.rbegin(); inner != parsed.blocks.rend(); ++inner) {
    auto& offsets = addressing.offset_of[inner->dimension];
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      offsets[i] += index / divisor[inner->dimension] % inner->size * stride;
    }
    divisor[inner->dimension] *= inner->size;
    stride *= inner->size;
  }
  for (auto dimension = parsed.outer.rbegin(); dimension != parsed.outer.rend(); ++dimension) {
    auto& offsets = addressing.offset_of[*dimension];
    const std::int64_t size = block[*dimension];
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offsets[i] += static_cast<std::int64_t>(i) / size * stride;
    }
    stride *= (shape[*dimension] + size - 1) / size;
  }
  return addressing;
}

int OuterDimensions(const Shape& shape) {
  int best = 0;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t outer = 1;
  for (int d = 0; d <= shape.rank(); ++d) {
    std::int64_t inner = 1;
    for (int i = d; i < shape.rank(); ++i) inner *= shape[i];
    // Of equal sums the last one is taken: threads divide the outer table among them.
    if (outer + inner <= shortest) {
      shortest = outer + inner;
      best = d;
    }
    if (d < shape.rank()) outer *= shape[d];
  }
  return best;
}

FactoredOffsets FactoredOffsetsOf(const TensorDesc& desc) {
  if (desc.layout.is_opaque()) {
    throw std::invalid_argument(
        fmt::format("layout '{}' is opaque: only its backend can address it", desc.layout.tag()));
  }
  const Addressing addressing = AddressingOf(desc.layout.tag(), desc.shape);
  const std::span<const std::vector<std::int64_t>> tables = addressing.offset_of;
  const auto split = static_cast<std::size_t>(OuterDimensions(desc.shape));
  return {SumsOf(tables.first(split)), SumsOf(tables.subspan(split))};
}

bool AreRowMajor(const TensorDesc& a, const TensorDesc& b) {
  return a.layout.IsPlainFor(a.shape) && b.layout.IsPlainFor(b.shape);
}

}  // namespace topdnn
