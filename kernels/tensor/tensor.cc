#include "kernels/tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

#include "kernels/tensor/addressing.h"
#include "kernels/tensor/setup_threads.h"
#include "kernels/tensor/typed_elements.h"

namespace topdnn {

namespace {

struct TypeFacts {
  std::string_view name;
  std::size_t size;
  double unit_roundoff;  // half the distance from 1 to the next number
};

constexpr TypeFacts kTensorTypes[] = {
    {"f32", 4, 0x1p-24}, {"f64", 8, 0x1p-53}, {"bf16", 2, 0x1p-8}, {"f16", 2, 0x1p-11},
    {"s64", 8, 0},       {"s32", 4, 0},       {"s8", 1, 0},        {"u8", 1, 0},
};

const TypeFacts& FactsOf(DataType type) { return kTensorTypes[static_cast<std::size_t>(type)]; }

// The tag without the outer dimensions that have a single block; their place in the tag has no
// effect.
std::pair<std::vector<int>, std::vector<std::pair<int, std::int64_t>>> SignificantPart(
    const std::string& tag, const Shape& shape) {
  const std::optional<ParsedTag> parsed = ParseTag(tag);
  std::vector<int> outer;
  std::vector<std::pair<int, std::int64_t>> blocks;
  if (!parsed) return {outer, blocks};
  const std::vector<std::int64_t> block = BlocksOf(*parsed);
  for (const TagBlock& inner : parsed->blocks) blocks.emplace_back(inner.dimension, inner.size);
  for (const int dimension : parsed->outer) {
    if (dimension >= shape.rank() || shape[dimension] > block[dimension]) {
      outer.push_back(dimension);
    }
  }
  return {outer, blocks};
}

}  // namespace

std::size_t SizeOf(DataType type) { return FactsOf(type).size; }
std::string_view NameOf(DataType type) { return FactsOf(type).name; }
double UnitRoundoff(DataType type) { return FactsOf(type).unit_roundoff; }

std::optional<DataType> ParseDataType(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kTensorTypes); ++i) {
    if (kTensorTypes[i].name == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents_) {
    if (__builtin_mul_overflow(product, extent, &product) || product > (std::int64_t{1} << 62)) {
      throw std::overflow_error(fmt::format("a tensor of {} has too many elements", ToString()));
    }
  }
  return product;
}

std::string Shape::ToString() const {
  return extents_.empty() ? "scalar" : fmt::format("{}", fmt::join(extents_, "x"));
}

Layout Layout::Plain(int rank) {
  Layout layout;
  // (a scalar has the tag of one dimension)
  for (int d = 0; d < std::max(rank, 1); ++d) layout.tag_ += static_cast<char>('a' + d);
  return layout;
}

Layout Layout::ChannelsLast(int rank) {
  Layout layout = Plain(rank);
  if (rank >= 3) std::rotate(layout.tag_.begin() + 1, layout.tag_.begin() + 2, layout.tag_.end());
  return layout;
}

std::optional<Layout> Layout::Parse(std::string_view tag) {
  if (!ParseTag(tag)) return std::nullopt;
  Layout layout;
  layout.tag_ = tag;
  return layout;
}

Layout Layout::Opaque(std::string name, std::size_t bytes,
                      std::shared_ptr<const void> backend_descriptor) {
  Layout layout;
  layout.tag_ = std::move(name);
  layout.opaque_bytes_ = bytes;
  layout.descriptor_ = std::move(backend_descriptor);
  return layout;
}

bool Layout::SameFor(const Shape& shape, const Layout& other) const {
  if (*this == other) return true;
  if (is_opaque() || other.is_opaque() || is_any() || other.is_any()) return false;
  return SignificantPart(tag_, shape) == SignificantPart(other.tag_, shape);
}

std::int64_t Layout::PaddedElements(const Shape& shape) const {
  std::vector<std::int64_t> padded = shape.extents();
  const std::vector<std::int64_t> block = BlocksOf(ParsedFor(tag_, shape));
  for (std::size_t d = 0; d < padded.size(); ++d) {
    padded[d] = (padded[d] + block[d] - 1) / block[d] * block[d];
  }
  return Shape(std::move(padded)).elements();
}

std::int64_t Layout::OffsetOf(const Shape& shape, std::span<const std::int64_t> index) const {
  const Addressing addressing = AddressingOf(tag_, shape);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < addressing.offset_of.size(); ++d) {
    offset += addressing.offset_of[d][static_cast<std::size_t>(index[d])];
  }
  return offset;
}

namespace {

// Calls `visit` with the position of every element, in row-major order of the logical tensor.
// `offset_of` is Addressing's, or its rest from a dimension on. Allocates nothing.
template <typename Visit>
void VisitOffsets(std::span<const std::vector<std::int64_t>> offset_of, std::int64_t base,
                  const Visit& visit) {
  if (offset_of.empty()) return visit(base);
  for (const std::int64_t offset : offset_of.front()) {
    if (offset_of.size() == 1) {
      visit(base + offset);
    } else {
      VisitOffsets(offset_of.subspan(1), base + offset, visit);
    }
  }
}

}  // namespace

std::vector<std::int64_t> Layout::Offsets(const Shape& shape) const {
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(shape.elements()));
  VisitOffsets(AddressingOf(tag_, shape).offset_of, 0,
               [&offsets](std::int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

std::size_t Layout::Bytes(const Shape& shape, DataType type) const {
  if (is_opaque()) return opaque_bytes_;
  return static_cast<std::size_t>(PaddedElements(shape)) * SizeOf(type);
}

namespace {

// The live memory by address. Never destroyed, because static tensors may outlive it.
struct LiveMemory {
  struct Block {
    std::size_t bytes = 0;
    void* allocated = nullptr;  // what is freed
  };
  std::mutex mutex;
  std::map<std::byte*, Block> blocks;
};
LiveMemory& Live() {
  static auto* const live = new LiveMemory();
  return *live;
}

// Calls `write` with the first byte of every page, so that each page gets separate memory: all
// pages that were only read share one page of zeros. Several threads write, because Linux clears
// each page, and so that the pages of a large block do not all lie on one NUMA node.
template <typename Write>
void ForPages(std::byte* memory, std::size_t bytes, const Write& write) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kPart = std::size_t{32} << 20;
  const std::size_t threads = SetupThreads(bytes / kPart);
  const std::size_t pages = (bytes + kPage - 1) / kPage;
  OnSetupThreads(threads, [=](std::size_t thread) {
    for (std::size_t p = pages * thread / threads; p < pages * (thread + 1) / threads; ++p) {
      write(*static_cast<volatile std::byte*>(memory + p * kPage));
    }
  });
}

}  // namespace

AlignedMemory::AlignedMemory(std::size_t bytes) : AlignedMemory(bytes, true) {}

AlignedMemory AlignedMemory::WithoutPages(std::size_t bytes) { return {bytes, false}; }

void AlignedMemory::TouchPages() const {
  ForPages(data_.get(), bytes_, [](volatile std::byte& byte) { byte = byte; });
}

AlignedMemory::AlignedMemory(std::size_t bytes, bool touch_pages) : bytes_(bytes) {
  constexpr std::size_t kCacheLine = 64;
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t padded = (std::max<std::size_t>(bytes, 1) + alignment - 1) & -alignment;
  // A plug-in may read this many bytes behind an operand (kernels/plugin/topdnn/plugin.h).
  constexpr std::size_t kReadable = 64;
  // calloc, because large blocks come from Linux filled with zeros.
  std::size_t room = padded + alignment + kReadable;
  void* const allocated = std::calloc(room, 1);
  if (allocated == nullptr) throw std::bad_alloc();
  void* aligned = allocated;
  auto* memory = static_cast<std::byte*>(std::align(alignment, padded, aligned, room));
  if (alignment == kHugePage) {
    // This is only advice: without huge pages the memory works too, but slower.
    madvise(memory, padded, MADV_HUGEPAGE);
    if (touch_pages) {
      ForPages(memory, padded, [](volatile std::byte& byte) { byte = std::byte{0}; });
    }
  } else {
    std::memset(memory, 0, padded);
  }
  // AddressSanitizer reports an access to what the alignment wastes. Without it, this does nothing.
  auto* const begin = static_cast<std::byte*>(allocated);
  ASAN_POISON_MEMORY_REGION(begin, memory - begin);
  ASAN_POISON_MEMORY_REGION(memory + bytes,
                            begin + padded + alignment + kReadable - (memory + bytes));
  try {
    const std::lock_guard lock(Live().mutex);
    Live().blocks[memory] = {padded, allocated};
  } catch (...) {
    std::free(allocated);
    throw;
  }
  data_.reset(memory);
}

void AlignedMemory::Free::operator()(std::byte* memory) const {
  void* allocated = nullptr;
  {
    const std::lock_guard lock(Live().mutex);
    allocated = Live().blocks.extract(memory).mapped().allocated;
  }
  std::free(allocated);
}

std::vector<std::span<std::byte>> LiveAlignedMemory() {
  const std::lock_guard lock(Live().mutex);
  std::vector<std::span<std::byte>> all;
  for (const auto& [memory, block] : Live().blocks) all.emplace_back(memory, block.bytes);
  return all;
}

Tensor::Tensor(TensorDesc desc) : desc_(std::move(desc)), memory_(desc_.bytes()) {}

Tensor::Tensor(TensorDesc desc, std::shared_ptr<const void> elements)
    : desc_(std::move(desc)), shared_(std::move(elements)) {}

Tensor::Tensor(Shape shape, DataType type) {
  const int rank = shape.rank();
  desc_ = {std::move(shape), type, Layout::Plain(rank)};
  memory_ = AlignedMemory(desc_.bytes());
}

namespace {

// Whether the elements lie in their logical order without gaps: no list of places is needed then.
bool IsRowMajor(const TensorDesc& desc) { return desc.layout == Layout::Plain(desc.shape.rank()); }

template <typename Value>
std::vector<Value> ValuesAs(const TensorDesc& desc, const void* data) {
  if (desc.layout.is_opaque()) {
    throw std::invalid_argument(
        fmt::format("layout '{}' is opaque: only its backend can read it", desc.layout.tag()));
  }
  std::vector<Value> values(static_cast<std::size_t>(desc.shape.elements()));
  const auto convert = [](auto to_double) {
    return [to_double](auto element) { return static_cast<Value>(to_double(element)); };
  };
  if (IsRowMajor(desc)) {
    VisitElements(desc.type, const_cast<void*>(data), [&](auto* elements, auto to_double, auto) {
      std::transform(elements, elements + values.size(), values.begin(), convert(to_double));
    });
    return values;
  }
  const Addressing addressing = AddressingOf(desc.layout.tag(), desc.shape);
  VisitElements(desc.type, const_cast<void*>(data), [&](auto* elements, auto to_double, auto) {
    Value* next = values.data();
    VisitOffsets(addressing.offset_of, 0,
                 [&](std::int64_t offset) { *next++ = convert(to_double)(elements[offset]); });
  });
  return values;
}

template <typename Value>
void FromValues(std::span<const Value> values, const TensorDesc& desc, void* data) {
  if (values.size() != static_cast<std::size_t>(desc.shape.elements())) {
    throw std::invalid_argument(
        fmt::format("{} values do not fill a tensor of {}", values.size(), desc.shape.ToString()));
  }
  if (IsRowMajor(desc)) {
    VisitElements(desc.type, data, [&](auto* elements, auto, auto from_double) {
      std::transform(values.begin(), values.end(), elements, from_double);
    });
    return;
  }
  const Addressing addressing = AddressingOf(desc.layout.tag(), desc.shape);
  VisitElements(desc.type, data, [&](auto* elements, auto, auto from_double) {
    const Value* next = values.data();
    VisitOffsets(addressing.offset_of, 0,
                 [&](std::int64_t offset) { elements[offset] = from_double(*next++); });
  });
}

}  // namespace

std::vector<double> ToDouble(const TensorDesc& desc, const void* data) {
  return ValuesAs<double>(desc, data);
}

std::vector<float> ToFloat(const TensorDesc& desc, const void* data) {
  return ValuesAs<float>(desc, data);
}

void FromDouble(std::span<const double> values, const TensorDesc& desc, void* data) {
  FromValues(values, desc, data);
}

std::vector<double> RoundedTo(DataType type, std::vector<double> values) {
  if (type == DataType::kF64) return values;
  const Tensor rounded(Shape{static_cast<std::int64_t>(values.size())}, type);
  FromDouble(values, rounded.desc(), rounded.data());
  return ToDouble(rounded.desc(), rounded.data());
}

void FromFloat(std::span<const float> values, const TensorDesc& desc, void* data) {
  FromValues(values, desc, data);
}

void CopyElements(DataType src_type, const void* src, std::span<const std::int64_t> src_offsets,
                  DataType dst_type, void* dst,
                  std::span<const std::int64_t> dst_offsets) noexcept {
  VisitElements(src_type, const_cast<void*>(src), [&](auto* from, auto to_double, auto) {
    VisitElements(dst_type, dst, [&](auto* to, auto, auto from_double) {
#pragma omp parallel for
      for (std::size_t i = 0; i < src_offsets.size(); ++i) {
        to[dst_offsets[i]] = from_double(to_double(from[src_offsets[i]]));
      }
    });
  });
}

}  // namespace topdnn
