// Shape, element type and memory layout of a tensor, and the aligned memory that holds one.
//
// Layouts are written as in oneDNN: one letter per dimension, outermost first, `a` for dimension 0.
// An upper-case letter marks a dimension that is also blocked; the blocks follow, innermost last.
// For an activation (N, C, H, W): "abcd" is NCHW, "acdb" is NHWC, "aBcd16b" is nChw16c. The string
// and the shape define the position of every element, so a check can read the tensor of any
// backend.

#ifndef TOPDNN_KERNELS_TENSOR_TENSOR_H_
#define TOPDNN_KERNELS_TENSOR_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

enum class DataType { kF32, kF64, kBF16, kF16, kS64, kS32, kS8, kU8 };

// Bytes of one element.
std::size_t SizeOf(DataType type);
// The short name: "f32", "bf16", ...
std::string_view NameOf(DataType type);
std::optional<DataType> ParseDataType(std::string_view name);
// Unit roundoff of a floating-point type (2^-24 for f32); 0 for an integer type.
double UnitRoundoff(DataType type);

// Extents of a tensor, outermost dimension first. A scalar has rank 0 and one element.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : extents_(extents) {}
  explicit Shape(std::vector<std::int64_t> extents) : extents_(std::move(extents)) {}

  int rank() const { return static_cast<int>(extents_.size()); }
  std::int64_t operator[](int dimension) const { return extents_[dimension]; }
  const std::vector<std::int64_t>& extents() const { return extents_; }
  // Product of the extents. Throws std::overflow_error when it exceeds 2^62.
  std::int64_t elements() const;
  // "8x3x32x32"; "scalar" at rank 0.
  std::string ToString() const;

  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> extents_;
};

// Order of a tensor's elements in memory (see the top of this file). Or `any`: the backend may
// choose. Or opaque: only the backend that made it can read it.
class Layout {
 public:
  // `any`.
  Layout() = default;
  static Layout Any() { return {}; }
  // Row-major: "ab", "abcd" (NCHW for an activation, OIHW for convolution weights).
  static Layout Plain(int rank);
  // Channels innermost: "acdb" (NHWC). Rank 3 and more; below that the same as Plain.
  static Layout ChannelsLast(int rank);
  // A letter tag, checked. Nothing for an invalid one ("aBcd", "abd", "aabc").
  static std::optional<Layout> Parse(std::string_view tag);
  // A layout of `bytes` bytes that only the owner of `backend_descriptor` can address.
  static Layout Opaque(std::string name, std::size_t bytes,
                       std::shared_ptr<const void> backend_descriptor);

  bool is_any() const { return tag_.empty(); }
  bool is_opaque() const { return descriptor_ != nullptr; }
  const std::string& tag() const { return tag_; }
  const std::shared_ptr<const void>& descriptor() const { return descriptor_; }

  // Number of elements that the tensor occupies, with all blocks padded to full size. Not for `any`
  // or opaque.
  std::int64_t PaddedElements(const Shape& shape) const;
  // Position, in elements, of the element at `index`. Not for `any` or opaque.
  std::int64_t OffsetOf(const Shape& shape, std::span<const std::int64_t> index) const;
  // Positions of all elements, in row-major order of the logical tensor. The same as OffsetOf for
  // each element, at the cost of one addition per element.
  std::vector<std::int64_t> Offsets(const Shape& shape) const;
  // Bytes that the tensor occupies.
  std::size_t Bytes(const Shape& shape, DataType type) const;

  // Whether both layouts put every element of a tensor of this shape in the same place. They may
  // differ in where a dimension with a single block is written in the tag.
  bool SameFor(const Shape& shape, const Layout& other) const;
  bool IsPlainFor(const Shape& shape) const { return SameFor(shape, Plain(shape.rank())); }

  bool operator==(const Layout& other) const {
    return tag_ == other.tag_ && descriptor_ == other.descriptor_;
  }

 private:
  std::string tag_;
  std::size_t opaque_bytes_ = 0;
  std::shared_ptr<const void> descriptor_;
};

// Describes the contents of a piece of memory.
struct TensorDesc {
  Shape shape;
  DataType type = DataType::kF32;
  Layout layout;

  std::size_t bytes() const { return layout.Bytes(shape, type); }
  // Whether the same bytes are the same tensor.
  bool operator==(const TensorDesc& other) const {
    return shape == other.shape && type == other.type && layout.SameFor(shape, other.layout);
  }
};

// Zeroed memory on a 64-byte boundary (a cache line and the widest vector). Memory of 2 MiB or more
// is on a 2 MiB boundary, with huge pages requested: one TLB entry then covers as much as 512
// entries for small pages.
class AlignedMemory {
 public:
  AlignedMemory() = default;
  explicit AlignedMemory(std::size_t bytes);  // throws std::bad_alloc
  // Leaves out the pages of a large block: each takes memory when it is first written.
  static AlignedMemory WithoutPages(std::size_t bytes);

  // Makes sure that each page has memory. The contents stay.
  void TouchPages() const;

  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  AlignedMemory(std::size_t bytes, bool touch_pages);

  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

// Every AlignedMemory that exists in this process: tensors, plans' buffers and kernels' scratch
// memory. For an experiment that exchanges the pages behind them.
std::vector<std::span<std::byte>> LiveAlignedMemory();

// A tensor that owns its memory. The memory starts zeroed.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorDesc desc);
  // Shares memory with elements of that layout, which nobody may write.
  Tensor(TensorDesc desc, std::shared_ptr<const void> elements);
  // Row-major.
  explicit Tensor(Shape shape, DataType type = DataType::kF32);

  const TensorDesc& desc() const { return desc_; }
  const Shape& shape() const { return desc_.shape; }
  void* data() const { return shared_ ? const_cast<void*>(shared_.get()) : memory_.data(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  // The elements of a row-major tensor.
  template <typename T>
  std::span<T> values() const {
    return {as<T>(), static_cast<std::size_t>(desc_.shape.elements())};
  }

 private:
  TensorDesc desc_;
  AlignedMemory memory_;
  std::shared_ptr<const void> shared_;  // if it is not null, instead of `memory_`
};

// Reads the logical tensor at `data`, of any type and layout, in row-major order as double. Throws
// std::invalid_argument for an opaque layout.
std::vector<double> ToDouble(const TensorDesc& desc, const void* data);
// The inverse of ToDouble: rounds to the element type. Padding inside blocks is not written.
void FromDouble(std::span<const double> values, const TensorDesc& desc, void* data);
// The values as elements of that type have them.
std::vector<double> RoundedTo(DataType type, std::vector<double> values);
// FromDouble from float: half the memory for the parameters of a network.
void FromFloat(std::span<const float> values, const TensorDesc& desc, void* data);
// Reads the logical tensor as float, rounded.
std::vector<float> ToFloat(const TensorDesc& desc, const void* data);

// For every i, copies the element at src_offsets[i] to dst_offsets[i] and rounds it to the type of
// dst. Does not allocate, lock or throw.
void CopyElements(DataType src_type, const void* src, std::span<const std::int64_t> src_offsets,
                  DataType dst_type, void* dst, std::span<const std::int64_t> dst_offsets) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TENSOR_TENSOR_H_
