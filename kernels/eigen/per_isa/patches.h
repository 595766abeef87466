// The receptive fields of a convolution's outputs, as the columns of a matrix that is not stored.
// Eigen's contraction packs them from runs of contiguous elements.
//
// Eigen's own evaluator needs several divisions to find each packet of a patch. For that reason
// TensorFlow has its own code for packing patches (eigen_spatial_convolutions.h). This file does
// the same.

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_PATCHES_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_PATCHES_H_

#include <algorithm>

#include "kernels/eigen/operands.h"
#include "kernels/eigen/per_isa/tensor.h"

namespace topdnn::eigen {

// A matrix (R*S*C, N*OH*OW). The extents are named as in Convolution.
struct Patches {
  const float* images;  // (N, H, W, C)
  Index c, h, w, s;
  Index stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w;
  Index oh, ow;

  Patches(const Convolution& conv, const float* src)
      : images(src),
        c(conv.c),
        h(conv.h),
        w(conv.w),
        s(conv.s),
        stride_h(conv.stride_h),
        stride_w(conv.stride_w),
        pad_top(conv.pad_top),
        pad_left(conv.pad_left),
        dilation_h(conv.dilation_h),
        dilation_w(conv.dilation_w),
        oh(conv.oh),
        ow(conv.ow) {}

  // Reads the geometry from an evaluator of image patches. Its rows are the columns here.
  template <typename Evaluator>
  explicit Patches(const Evaluator& evaluator)
      : images(evaluator.impl().data()),
        c(evaluator.dimensions()[0]),
        h(evaluator.impl().dimensions()[2]),
        w(evaluator.impl().dimensions()[1]),
        s(evaluator.dimensions()[1]),
        stride_h(evaluator.userColStride()),
        stride_w(evaluator.userRowStride()),
        pad_top(evaluator.colPaddingLeft()),
        pad_left(evaluator.rowPaddingTop()),
        dilation_h(evaluator.userInColStride()),
        dilation_w(evaluator.userInRowStride()),
        oh(evaluator.outputCols()),
        ow(evaluator.outputRows()) {}

  // Calls emit(length, sources) for elements [first, first + depth) of kColumns neighbouring
  // columns, one run after the other. sources[i] points to `length` elements of column i; it is
  // null when these are padding. With kByTap a run is one tap (or the part of it in the range).
  template <int kColumns, bool kByTap = false, typename Emit>
  void ForEachRun(Index first, Index depth, Index column, Emit emit) const {
    Corner corners[kColumns];
    for (int i = 0; i < kColumns; ++i) corners[i] = CornerOf(column + i);
    Index tap_row = first / (s * c);
    Index tap_col = first / c % s;
    Index skip = first % c;
    while (depth > 0) {
      // A row of taps is contiguous when none of it is padding. Otherwise each tap is a run.
      Index length = std::min(depth, (s - tap_col) * c - skip);
      const float* sources[kColumns] = {};
      if (kByTap || dilation_w != 1 ||
          !Locate(corners, tap_row, tap_col, (skip + length + c - 1) / c, skip, sources)) {
        length = std::min(depth, c - skip);
        Locate(corners, tap_row, tap_col, 1, skip, sources);
      }
      emit(length, sources);
      depth -= length;
      skip += length;
      tap_col += skip / c;
      skip %= c;
      if (tap_col == s) {
        tap_col = 0;
        ++tap_row;
      }
    }
  }

 private:
  // Start of a column's receptive field: its image, and row and column of the first tap.
  struct Corner {
    const float* image;
    Index y, x;
  };

  Corner CornerOf(Index column) const {
    const Index row = column / ow;
    return {images + row / oh * h * w * c, row % oh * stride_h - pad_top,
            (column - row * ow) * stride_w - pad_left};
  }

  // Finds `taps` neighbouring taps of a row. Returns false when only some of them are padding.
  template <int kColumns>
  bool Locate(const Corner (&corners)[kColumns], Index tap_row, Index tap_col, Index taps,
              Index skip, const float* (&sources)[kColumns]) const {
    for (int i = 0; i < kColumns; ++i) {
      const Index y = corners[i].y + tap_row * dilation_h;
      const Index x = corners[i].x + tap_col * dilation_w;
      if (y < 0 || y >= h || x + taps <= 0 || x >= w) {
        sources[i] = nullptr;
      } else if (x < 0 || x + taps > w) {
        return false;
      } else {
        sources[i] = corners[i].image + (y * w + x) * c + skip;
      }
    }
    return true;
  }
};

// Elements [first, ...) of columns [column, ...): a sub-mapper in Eigen's terms.
struct PatchBlock {
  Patches patches;
  Index first, column;

  // Copies (depth, columns) to `block`, column by column.
  template <bool kByTap = false>
  void CopyColumns(float* block, Index depth, Index columns) const {
    for (Index i = 0; i < columns; ++i) {
      patches.ForEachRun<1, kByTap>(first, depth, column + i,
                                    [&](Index length, const float* const(&source)[1]) {
                                      if (source[0] == nullptr) {
                                        std::fill_n(block, length, 0.0F);
                                      } else {
                                        std::copy_n(source[0], length, block);
                                      }
                                      block += length;
                                    });
    }
  }

  // Copies (depth, 4) to `panel`, four columns interleaved, of a panel of `kWidth` columns.
  template <int kWidth>
  void Interleave4(float* panel, Index depth) const {
    patches.ForEachRun<4>(first, depth, column, [&](Index length, const float* const(&from)[4]) {
      using Eigen::internal::Packet4f;
      Index i = 0;
      for (; i + 4 <= length; i += 4, panel += 4 * kWidth) {
        Eigen::internal::PacketBlock<Packet4f, 4> rows;
        for (int j = 0; j < 4; ++j) {
          rows.packet[j] = from[j] == nullptr ? Eigen::internal::pset1<Packet4f>(0.0F)
                                              : Eigen::internal::ploadu<Packet4f>(from[j] + i);
        }
        Eigen::internal::ptranspose(rows);
        for (int j = 0; j < 4; ++j) Eigen::internal::pstoreu(panel + kWidth * j, rows.packet[j]);
      }
      for (; i < length; ++i, panel += kWidth) {
        for (int j = 0; j < 4; ++j) panel[j] = from[j] == nullptr ? 0.0F : from[j][i];
      }
    });
  }
};

// Packs patches in the format of gebp's right panels: columns in groups of kColumns, then of four,
// then one by one.
template <int kColumns>
struct PackPatches {
  EIGEN_DONT_INLINE void operator()(float* panels, const PatchBlock& block, Index depth,
                                    Index columns, Index /*stride*/ = 0, Index /*offset*/ = 0) {
    PatchBlock part = block;
    if constexpr (kColumns == 8) {
      for (; columns >= 8; columns -= 8, panels += 8 * depth) {
        for (int half = 0; half < 8; half += 4, part.column += 4) {
          part.Interleave4<8>(panels + half, depth);
        }
      }
    }
    for (; columns >= 4; columns -= 4, part.column += 4, panels += 4 * depth) {
      part.Interleave4<4>(panels, depth);
    }
    part.CopyColumns(panels, depth, columns);
  }
};

}  // namespace topdnn::eigen

namespace Eigen::internal {

// Lets a contraction read reshaped image patches as its right matrix.
template <typename Dimensions, DenseIndex kRows, DenseIndex kCols, typename Image, typename Device,
          typename NoContract, typename Contract, int kPacketSize, bool kContiguous,
          bool kReordered, int kAlignment>
class TensorContractionInputMapper<
    float, Index, Rhs,
    TensorEvaluator<
        const TensorReshapingOp<Dimensions, const TensorImagePatchOp<kRows, kCols, Image>>, Device>,
    NoContract, Contract, kPacketSize, kContiguous, kReordered, kAlignment, MakePointer> {
 public:
  using Evaluator = TensorEvaluator<
      const TensorReshapingOp<Dimensions, const TensorImagePatchOp<kRows, kCols, Image>>, Device>;
  using Scalar = float;
  using SubMapper = topdnn::eigen::PatchBlock;
  using VectorMapper = SubMapper;

  TensorContractionInputMapper(const Evaluator& evaluator, const NoContract&, const NoContract&,
                               const Contract&, const Contract&)
      : patches_(evaluator.impl()) {}

  SubMapper getSubMapper(Index first, Index column) const { return {patches_, first, column}; }

  // One element. Only the matrix-vector product (a single output) uses it.
  float operator()(Index i, Index column) const {
    float element = 0.0F;
    patches_.ForEachRun<1>(i, 1, column, [&](Index, const float* const(&source)[1]) {
      if (source[0] != nullptr) element = *source[0];
    });
    return element;
  }

 private:
  topdnn::eigen::Patches patches_;
};

// The panels are four columns wide on x86, and eight with the kernels of Eigen 5 for AVX-512.
template <>
struct gemm_pack_rhs<float, Index, topdnn::eigen::PatchBlock, 4, ColMajor, false, false>
    : topdnn::eigen::PackPatches<4> {};
template <>
struct gemm_pack_rhs<float, Index, topdnn::eigen::PatchBlock, 8, ColMajor, false, false>
    : topdnn::eigen::PackPatches<8> {};

}  // namespace Eigen::internal

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_PATCHES_H_
