// Softmax as device expressions, in the steps of TensorFlow's SoftmaxEigenImpl, and softmax
// cross-entropy.

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

using Rows = Eigen::TensorMap<Eigen::Tensor<float, 2, Eigen::RowMajor, Index>>;
using ConstRows = Eigen::TensorMap<Eigen::Tensor<const float, 2, Eigen::RowMajor, Index>>;

// One number per row, to be combined with every element of the row.
struct PerRow {
  PerRow(Index batch, Index classes) : column(batch, 1), spread(1, classes) {}

  const Eigen::array<Index, 1> classes_axis = {1};
  const Eigen::DSizes<Index, 2> column, spread;
};

void Softmax(Pool* pool, std::int64_t batch, std::int64_t classes, const float* src, float* dst) {
  const PerRow per_row(batch, classes);
  const ConstRows x(src, batch, classes);
  Rows y(dst, batch, classes);
  y.device(pool->device) =
      (x - x.maximum<Eigen::array<Index, 1>, Eigen::PropagateNaN>(per_row.classes_axis)
               .eval()
               .reshape(per_row.column)
               .broadcast(per_row.spread))
          .exp();
  y.device(pool->device) = y * y.sum(per_row.classes_axis)
                                   .inverse()
                                   .eval()
                                   .reshape(per_row.column)
                                   .broadcast(per_row.spread);
}

void SoftmaxBackward(Pool* pool, std::int64_t batch, std::int64_t classes, const float* diff_dst,
                     const float* dst, float* diff_src) {
  const PerRow per_row(batch, classes);
  const ConstRows dy(diff_dst, batch, classes);
  const ConstRows y(dst, batch, classes);
  Rows(diff_src, batch, classes).device(pool->device) = (dy - (dy * y)
                                                                  .sum(per_row.classes_axis)
                                                                  .eval()
                                                                  .reshape(per_row.column)
                                                                  .broadcast(per_row.spread)) *
                                                        y;
}

void CrossEntropy(Pool* pool, std::int64_t batch, std::int64_t classes, const float* src,
                  const std::int32_t* labels, float* losses, float* diff_src) {
  using Row = Eigen::Map<Eigen::ArrayXf>;
  using ConstRow = Eigen::Map<const Eigen::ArrayXf>;
  const auto work = static_cast<double>(classes);
  pool->For(batch, 8 * work, 20 * work, [&](Index first, Index end) {
    for (Index n = first; n < end; ++n) {
      const ConstRow logits(src + n * classes, classes);
      const float highest = logits.maxCoeff<Eigen::PropagateNaN>();
      float sum = 0;
      if (diff_src == nullptr) {
        sum = (logits - highest).exp().sum();
      } else {
        Row gradient(diff_src + n * classes, classes);
        gradient = (logits - highest).exp();
        sum = gradient.sum();
        gradient *= 1.0F / (sum * static_cast<float>(batch));
        gradient[labels[n]] -= 1.0F / static_cast<float>(batch);
      }
      // Computes the difference of the logits first: it is exact when they are large and close.
      losses[n] = std::log(sum) + (highest - logits[labels[n]]);
    }
  });
}

const Entry kSoftmax(&Functions::softmax, Softmax);
const Entry kSoftmaxBackward(&Functions::softmax_backward, SoftmaxBackward);
const Entry kCrossEntropy(&Functions::cross_entropy, CrossEntropy);

}  // namespace

}  // namespace topdnn::eigen
