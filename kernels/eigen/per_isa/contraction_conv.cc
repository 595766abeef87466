// Convolution as contractions, as in TensorFlow (conv_ops.cc, conv_grad_filter_ops.cc,
// conv_grad_input_ops.cc). Forward uses image patches that are never stored; the gradients use
// stored ones.

#include <algorithm>
#include <cstring>

#include "kernels/eigen/per_isa/contraction.h"
#include "kernels/eigen/per_isa/patches.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

Index PatchSize(const Convolution& conv) { return conv.r * conv.s * conv.c; }

// Fills col (images*OH*OW, R*S*C).
void Im2Col(Pool* pool, const Convolution& conv, const float* src, Index images, float* col) {
  const Index patch = PatchSize(conv);
  const Index row = conv.ow * patch;  // elements of col per row of outputs
  const double bytes = 8.0 * static_cast<double>(row);
  pool->For(images * conv.oh, bytes, 0.25 * bytes, [&](Index first, Index end) {
    PatchBlock{Patches(conv, src), 0, first * conv.ow}.CopyColumns(col + first * row, patch,
                                                                   (end - first) * conv.ow);
  });
}

// For one image: sums col (OH*OW, R*S*C) into image (H, W, C). The image is overwritten.
void Col2Im(const Convolution& conv, const float* col, float* image) {
  std::memset(image, 0, static_cast<std::size_t>(conv.h * conv.w * conv.c) * sizeof(float));
  const Patches patches(conv, image);
  for (Index column = 0; column < conv.oh * conv.ow; ++column) {
    patches.ForEachRun<1>(0, PatchSize(conv), column,
                          [&](Index length, const float* const(&place)[1]) {
                            if (place[0] != nullptr) {
                              float* sum = image + (place[0] - image);
                              for (Index i = 0; i < length; ++i) sum[i] += col[i];
                            }
                            col += length;
                          });
  }
}

// col (OH*OW, R*S*C) = diff_dst (OH*OW, K) * weights^T, on the calling thread.
void MultiplyInOneThread(const Convolution& conv, const float* diff_dst, const float* weights,
                         float* col) {
  const Index patch = PatchSize(conv);
  const Index outputs = conv.oh * conv.ow;
#ifdef TOPDNN_EIGEN_SGEMM
  MultiplyPanels({const_cast<float*>(weights), conv.k, true},
                 {const_cast<float*>(diff_dst), conv.k, false}, patch, outputs, conv.k, 1.0F, 0.0F,
                 col, patch);
#else
  using Eigen::Map;
  using Eigen::MatrixXf;
  Map<MatrixXf>(col, patch, outputs).noalias() =
      Map<const MatrixXf>(weights, conv.k, patch).transpose() *
      Map<const MatrixXf>(diff_dst, conv.k, outputs);
#endif
}

void ConvForward(Pool* pool, const Convolution& conv, const float* src, const float* weights,
                 const Epilogue& epilogue, float* dst) {
  const Eigen::TensorMap<Eigen::Tensor<const float, 4, Eigen::ColMajor, Index>> images(
      src, conv.c, conv.w, conv.h, conv.n);
  const Index outputs = conv.n * conv.oh * conv.ow;
  const ConstMatrix kernels(weights, conv.k, PatchSize(conv));
  // Eigen's rows are the second dimension, which is the width here.
  const auto patches =
      images
          .extract_image_patches(conv.s, conv.r, conv.stride_w, conv.stride_h, conv.dilation_w,
                                 conv.dilation_h, 1, 1, conv.pad_left, conv.pad_right, conv.pad_top,
                                 conv.pad_bottom, 0.0F)
          .reshape(Eigen::DSizes<Index, 2>(PatchSize(conv), outputs));
  Matrix(dst, conv.k, outputs).device(pool->device) =
      kernels.contract(patches, Sums{{{1, 0}}}, BlockEpilogue{1.0F, epilogue, false});
}

void ConvBackwardWeights(Pool* pool, const Convolution& conv, const float* src,
                         const float* diff_dst, std::int64_t images, float* col,
                         float* diff_weights) {
  Matrix result(diff_weights, conv.k, PatchSize(conv));
  const Index outputs = conv.oh * conv.ow;
  for (Index n = 0; n < conv.n; n += images) {
    const Index count = std::min<Index>(images, conv.n - n);
    Im2Col(pool, conv, src + n * conv.h * conv.w * conv.c, count, col);
    const ConstMatrix gradient(diff_dst + n * outputs * conv.k, conv.k, count * outputs);
    const ConstMatrix patches(col, PatchSize(conv), count * outputs);
    const auto product = gradient.contract(patches, Sums{{{1, 1}}}, BlockEpilogue{});
    if (n == 0) {
      result.device(pool->device) = product;
    } else {
      result.device(pool->device) += product;
    }
  }
}

void ConvBackwardData(Pool* pool, const Convolution& conv, const float* diff_dst,
                      const float* weights, std::int64_t slots, float* col, float* diff_src) {
  const Index patch = PatchSize(conv);
  const Index outputs = conv.oh * conv.ow;
  const Index image = conv.h * conv.w * conv.c;
  if (slots == 1) {
    const ConstMatrix kernels(weights, conv.k, patch);
    for (Index n = 0; n < conv.n; ++n) {
      const ConstMatrix gradient(diff_dst + n * outputs * conv.k, conv.k, outputs);
      Matrix(col, patch, outputs).device(pool->device) =
          kernels.contract(gradient, Sums{{{0, 0}}}, BlockEpilogue{});
      Col2Im(conv, col, diff_src + n * image);
    }
    return;
  }
  const Index images = conv.n / slots + 1;  // of a slot, at most
  const double cycles = static_cast<double>(images) * static_cast<double>(outputs) *
                        static_cast<double>(patch * conv.k) / 16;
  pool->For(slots, 0, cycles, [&](Index first, Index end) {
    for (Index slot = first; slot < end; ++slot) {
      float* own = col + slot * outputs * patch;
      for (Index n = slot * conv.n / slots; n < (slot + 1) * conv.n / slots; ++n) {
        MultiplyInOneThread(conv, diff_dst + n * outputs * conv.k, weights, own);
        Col2Im(conv, own, diff_src + n * image);
      }
    }
  });
}

const Entry kConvForward(&Functions::conv_forward, ConvForward);
const Entry kConvBackwardWeights(&Functions::conv_backward_weights, ConvBackwardWeights);
const Entry kConvBackwardData(&Functions::conv_backward_data, ConvBackwardData);

}  // namespace

}  // namespace topdnn::eigen
