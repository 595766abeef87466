// Contractions whose blocks are multiplied by a single-threaded oneDNN sgemm on packed panels, as
// in TensorFlow (eigen_contraction_kernel.h). This header specialises the kernel that Eigen's
// contractions use.
//
// A panel is a plain matrix: a copy, or the block itself where TensorFlow does not copy either
// (DirectColMajorAccess). A copy keeps the contiguous dimension of its source, and sgemm multiplies
// it transposed where necessary. TensorFlow instead transposes a block with contiguous rows while
// it copies the block.

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_SGEMM_KERNEL_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_SGEMM_KERNEL_H_

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <vector>

#include "kernels/eigen/per_isa/patches.h"
#include "kernels/eigen/per_isa/table.h"
#include "kernels/eigen/per_isa/tensor.h"

namespace topdnn::eigen {

// A block of a matrix, first dimension innermost unless transposed.
struct Panel {
  float* memory;      // for a copy
  const float* data;  // `memory`, or the block itself
  Index leading;      // elements from one line to the next
  bool transposed;
};

// Whether a block of `columns` contiguous columns of `rows` elements, `stride` apart, is read where
// it is, by TensorFlow's rule: if a copy would have the same form, or only one product reads the
// block, or two read it and it is small. `uses` is the number of these products.
inline bool ReadsInPlace(Index rows, Index columns, Index stride, Index uses) {
  constexpr Index kFewUses = 2;
  constexpr Index kFewElements = (256 << 10) / sizeof(float);
  return stride == rows || uses == 1 || (uses <= kFewUses && stride * columns < kFewElements);
}

// Column-major c (m, n) = alpha * a (m, k) * b (k, n) + beta * c, on the calling thread, whose
// OpenMP width must be 1.
inline void MultiplyPanels(const Panel& a, const Panel& b, Index m, Index n, Index k, float alpha,
                           float beta, float* c, Index ldc) {
  // oneDNN's sgemm is row-major, so it computes the transposed product.
  const dnnl_status_t status =
      dnnl_sgemm(b.transposed ? 'T' : 'N', a.transposed ? 'T' : 'N', n, m, k, alpha, b.data,
                 b.leading, a.data, a.leading, beta, c, ldc);
  if (status != dnnl_success) record_failure("dnnl_sgemm", status);
}

// Copies the columns of a block of an expression that is not in memory.
template <typename Block>
void CopyExpression(const Block& block, Index rows, Index columns, float* to) {
  using Packet = Eigen::internal::packet_traits<float>::type;
  constexpr Index kLanes = Eigen::internal::packet_traits<float>::size;
  for (Index j = 0; j < columns; ++j, to += rows) {
    Index i = 0;
    for (; i + kLanes <= rows; i += kLanes) {
      Eigen::internal::pstoreu(to + i, block.template loadPacket<Packet>(i, j));
    }
    for (; i < rows; ++i) to[i] = block(i, j);
  }
}

// Packs a block of a matrix in memory or of an expression, as described by a contraction's
// sub-mapper. `uses` products read it.
template <typename Index, int kSide, typename Evaluator, typename NoContract, typename Contract,
          int kPacketSize, bool kContiguous, bool kReordered, int kAlignment>
void Pack(Panel* panel,
          const Eigen::internal::TensorContractionSubMapper<
              float, Index, kSide, Evaluator, NoContract, Contract, kPacketSize, kContiguous,
              kReordered, kAlignment>& block,
          Index rows, Index columns, Index uses) {
  using Block = std::decay_t<decltype(block)>;
  static_assert(Eigen::internal::array_size<NoContract>::value == 1 &&
                Eigen::internal::array_size<Contract>::value == 1);
  panel->data = panel->memory;
  if constexpr (!Evaluator::RawAccess) {
    panel->transposed = false;
    panel->leading = rows;
    return CopyExpression(block, rows, columns, panel->memory);
  }
  const auto& mapper = block.base_mapper();
  const bool left = kSide == Eigen::internal::Lhs;
  const Index row_stride = left ? mapper.nocontract_strides()[0] : mapper.contract_strides()[0];
  const Index column_stride = left ? mapper.contract_strides()[0] : mapper.nocontract_strides()[0];
  const float* source = mapper.tensor().data();
  // With direct offsets, Eigen has already moved the pointer to the block.
  if (!Block::UseDirectOffsets) {
    source += block.vert_offset() * row_stride + block.horiz_offset() * column_stride;
  }
  panel->transposed = row_stride != 1;
  if (!panel->transposed && ReadsInPlace(rows, columns, column_stride, uses)) {
    panel->data = source;
    // The stride is below `rows` only for a single column, where it has no effect; sgemm refuses
    // such a leading dimension.
    panel->leading = std::max(column_stride, rows);
    return;
  }
  panel->leading = panel->transposed ? columns : rows;
  const Index lines = panel->transposed ? rows : columns;
  const Index stride = panel->transposed ? row_stride : column_stride;
  for (Index i = 0; i < lines; ++i) {
    std::copy_n(source + i * stride, panel->leading, panel->memory + i * panel->leading);
  }
}

inline void Pack(Panel* panel, const PatchBlock& block, Index depth, Index columns,
                 Index /*uses*/) {
  panel->data = panel->memory;
  panel->transposed = false;
  panel->leading = depth;
  block.CopyColumns(panel->memory, depth, columns);
}

}  // namespace topdnn::eigen

namespace Eigen::internal {

template <typename Index, typename OutputMapper, typename LhsMapper, typename RhsMapper>
struct TensorContractionKernel<float, float, float, Index, OutputMapper, LhsMapper, RhsMapper> {
  enum { HasBeta = true };

  using LhsBlock = topdnn::eigen::Panel;
  using RhsBlock = topdnn::eigen::Panel;
  using Memory = TensorContractionBlockMemAllocator<float, float>;
  using BlockMemHandle = Memory::BlockMemHandle;

  TensorContractionKernel(Index m, Index /*k*/, Index n, Index rows, Index depth, Index columns)
      : rows_(rows),
        depth_(depth),
        columns_(columns),
        row_blocks_(divup(m, rows)),
        column_blocks_(divup(n, columns)) {}

  template <typename Device>
  BlockMemHandle allocate(Device& device, LhsBlock* lhs, RhsBlock* rhs) {
    return Memory::allocate(device, rows_, depth_, columns_, &lhs->memory, &rhs->memory);
  }

  template <typename Device>
  BlockMemHandle allocateSlices(Device& device, Index lhs_count, Index rhs_count, Index slices,
                                std::vector<LhsBlock>* lhs, std::vector<RhsBlock>* rhs) {
    const auto count = static_cast<std::size_t>(slices);
    std::vector<std::vector<float*>> lhs_memory(count);
    std::vector<std::vector<float*>> rhs_memory(count);
    const BlockMemHandle handle =
        Memory::allocateSlices(device, rows_, depth_, columns_, lhs_count, rhs_count, slices,
                               lhs_memory.data(), rhs_memory.data());
    for (std::size_t slice = 0; slice < count; ++slice) {
      for (float* memory : lhs_memory[slice]) lhs[slice].push_back({memory, memory, 0, false});
      for (float* memory : rhs_memory[slice]) rhs[slice].push_back({memory, memory, 0, false});
    }
    return handle;
  }

  template <typename Device>
  static void deallocate(Device& device, BlockMemHandle handle) {
    Memory::deallocate(device, handle);
  }

  EIGEN_DONT_INLINE void packLhs(LhsBlock* panel, const typename LhsMapper::SubMapper& block,
                                 Index depth, Index rows) {
    topdnn::eigen::Pack(panel, block, rows, depth, column_blocks_);
  }

  EIGEN_DONT_INLINE void packRhs(RhsBlock* panel, const typename RhsMapper::SubMapper& block,
                                 Index depth, Index columns) {
    topdnn::eigen::Pack(panel, block, depth, columns, row_blocks_);
  }

  EIGEN_DONT_INLINE void invoke(const OutputMapper& output, const LhsBlock& lhs,
                                const RhsBlock& rhs, Index rows, Index depth, Index columns,
                                float alpha, float beta) {
    topdnn::eigen::MultiplyPanels(lhs, rhs, rows, columns, depth, alpha, beta,
                                  const_cast<float*>(output.data()), output.stride());
  }

 private:
  const Index rows_, depth_, columns_;  // largest extents of a block
  // Numbers of blocks of the result: a block of the right matrix takes part in row_blocks_
  // products.
  const Index row_blocks_, column_blocks_;
};

// Block sizes for sgemm: Eigen's own choice, with 1.5 times as many rows. Rows and columns are
// rounded up to the unrolling of oneDNN's AVX-512 and AVX2 kernels (48 rows; 6 and 8 columns, which
// both divide 24), and the depth is split evenly, in whole vectors of at least 8 elements. The
// factor 1.5 and these multiples are TensorFlow's.
template <typename Index, int kSharding>
class TensorContractionBlocking<float, float, float, Index, kSharding> {
 public:
  TensorContractionBlocking(Index k, Index m, Index n, Index threads = 1) : kc_(k), mc_(m), nc_(n) {
    if (kSharding == ShardByCol) {
      computeProductBlockingSizes<float, float, 1>(kc_, mc_, nc_, threads);
    } else {
      computeProductBlockingSizes<float, float, 1>(kc_, nc_, mc_, threads);
    }
    mc_ = std::min(m, RoundUp(mc_ + mc_ / 2, 48));
    nc_ = std::min(n, RoundUp(nc_, 24));
    const Index slices = divup(k, kc_);
    const Index lanes = std::max<Index>(8, packet_traits<float>::size);
    kc_ = std::min(k, RoundUp(k / slices, lanes));
  }

  Index kc() const { return kc_; }
  Index mc() const { return mc_; }
  Index nc() const { return nc_; }

 private:
  static Index RoundUp(Index value, Index multiple) { return divup(value, multiple) * multiple; }

  Index kc_, mc_, nc_;
};

}  // namespace Eigen::internal

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_SGEMM_KERNEL_H_
