// Convolution as contractions, as in TensorFlow (conv_ops.cc, conv_grad_filter_ops.cc,
// conv_grad_input_ops.cc). Forward uses image patches that are never stored; the gradients use
// stored ones.

#include <algorithm>

#include "kernels/eigen/per_isa/contraction.h"
#include "kernels/eigen/per_isa/patches.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

Index PatchSize(const Convolution& conv) { return conv.r * conv.s * conv.c; }

// Number of elements that the products of one image read and write. TensorFlow uses it as the
// number of cycles of an image when it shares images among threads.
double WorkOfImage(const Convolution& conv) {
  const Index outputs = conv.oh * conv.ow;
  return static_cast<double>(outputs * PatchSize(conv) + outputs * conv.k +
                             PatchSize(conv) * conv.k);
}

// Fills col (images*OH*OW, R*S*C) tap by tap. Threads share the images.
void Im2Col(Pool* pool, const Convolution& conv, const float* src, Index images, float* col) {
  const Index image = conv.oh * conv.ow * PatchSize(conv);  // elements of col
  pool->For(images, 0, static_cast<double>(image), [&](Index first, Index end) {
    PatchBlock{Patches(conv, src), 0, first * conv.oh * conv.ow}.CopyColumns<true>(
        col + first * image, PatchSize(conv), (end - first) * conv.oh * conv.ow);
  });
}

// For one image: adds col (OH*OW, R*S*C) to image (H, W, C) tap by tap.
void Col2Im(const Convolution& conv, const float* col, float* image) {
  const Patches patches(conv, image);
  for (Index column = 0; column < conv.oh * conv.ow; ++column) {
    patches.ForEachRun<1, true>(0, PatchSize(conv), column,
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
  MultiplyPanels({nullptr, weights, conv.k, true}, {nullptr, diff_dst, conv.k, false}, patch,
                 outputs, conv.k, 1.0F, 0.0F, col, patch);
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
  result.setZero();
  for (Index n = 0; n < conv.n; n += images) {
    const Index count = std::min<Index>(images, conv.n - n);
    Im2Col(pool, conv, src + n * conv.h * conv.w * conv.c, count, col);
    const ConstMatrix gradient(diff_dst + n * outputs * conv.k, conv.k, count * outputs);
    const ConstMatrix patches(col, PatchSize(conv), count * outputs);
    result.device(pool->device) += gradient.contract(patches, Sums{{{1, 1}}}, BlockEpilogue{});
  }
}

void ConvBackwardData(Pool* pool, const Convolution& conv, const float* diff_dst,
                      const float* weights, std::int64_t images, bool shares_product, float* col,
                      float* diff_src) {
  const Index patch = PatchSize(conv);
  const Index outputs = conv.oh * conv.ow;
  const Index image = conv.h * conv.w * conv.c;
  Matrix sums(diff_src, image, conv.n);
  sums.device(pool->device) = sums.constant(0.0F);
  if (shares_product) {
    const ConstMatrix kernels(weights, conv.k, patch);
    for (Index n = 0; n < conv.n; ++n) {
      const ConstMatrix gradient(diff_dst + n * outputs * conv.k, conv.k, outputs);
      Matrix(col, patch, outputs).device(pool->device) =
          kernels.contract(gradient, Sums{{{0, 0}}}, BlockEpilogue{});
      Col2Im(conv, col, diff_src + n * image);
    }
    return;
  }
  for (Index n = 0; n < conv.n; n += images) {
    const Index count = std::min<Index>(images, conv.n - n);
    pool->For(count, 0, WorkOfImage(conv), [&](Index first, Index end) {
      for (Index i = first; i < end; ++i) {
        float* own = col + i * outputs * patch;
        MultiplyInOneThread(conv, diff_dst + (n + i) * outputs * conv.k, weights, own);
        Col2Im(conv, own, diff_src + (n + i) * image);
      }
    });
  }
}

const Entry kConvForward(&Functions::conv_forward, ConvForward);
const Entry kConvBackwardWeights(&Functions::conv_backward_weights, ConvBackwardWeights);
const Entry kConvBackwardData(&Functions::conv_backward_data, ConvBackwardData);

}  // namespace

}  // namespace topdnn::eigen
