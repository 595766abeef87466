// Convolution over one to three spatial dimensions as loops in f32, for backends without it. An
// iteration computes one element of the result; neighbours along a row are computed together.

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/conv_nd/conv_nd.h"
#include "kernels/eigen/range_loop.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

class ConvNdLoop {
 public:
  explicit ConvNdLoop(const KernelRequest& request)
      : ConvNdLoop(request.OpAs<ConvNdOp>(), request.execution.pass) {}

  std::int64_t iterations() const {
    switch (pass_) {
      case Pass::kForward:
        return n_ * k_ * outputs_;
      case Pass::kBackwardData:
        return n_ * groups_ * channels_ * image_;
      case Pass::kBackwardWeights:
        break;
    }
    return k_ * channels_ * taps_;
  }
  double cycles() const { return cycles_; }
  std::array<Arg, kLoopOperands> operands() const {
    switch (pass_) {
      case Pass::kForward:
        return {Arg::kSrc, Arg::kWeights, Arg::kDst};
      case Pass::kBackwardData:
        return {Arg::kDiffDst, Arg::kWeights, Arg::kDiffSrc};
      case Pass::kBackwardWeights:
        break;
    }
    return {Arg::kSrc, Arg::kDiffDst, Arg::kDiffWeights};
  }

  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    if (pass_ == Pass::kBackwardWeights) {
      for (std::int64_t i = first; i < end; ++i) data[2][i] = WeightGradient(data, i);
      return;
    }
    const std::int64_t row = pass_ == Pass::kForward ? w_.outputs() : w_.extent;
    while (first < end) {
      const std::int64_t x = first % row;
      const std::int64_t count = std::min(end - first, row - x);
      std::fill_n(data[2] + first, count, 0.0F);
      if (pass_ == Pass::kForward) {
        ForwardRow(data, first / row, {x, x + count});
      } else {
        BackwardRow(data, first / row, {x, x + count});
      }
      first += count;
    }
  }

 private:
  ConvNdLoop(const ConvNdOp& op, Pass pass)
      : pass_(pass),
        d_(InThree(op.extents().axes)[0]),
        h_(InThree(op.extents().axes)[1]),
        w_(InThree(op.extents().axes)[2]),
        n_(op.extents().n),
        k_(op.extents().k),
        groups_(op.extents().groups),
        channels_(op.extents().c / groups_),
        cycles_(static_cast<double>(op.AccumulationLength(pass)) / 2) {}

  // Adds to elements [x.first, x.end) of one row of dst (N, K, OD, OH, OW).
  void ForwardRow(const LoopOperands& data, std::int64_t row, OutputRange x) const {
    const std::int64_t y = row % h_.outputs();
    const std::int64_t z = row / h_.outputs() % d_.outputs();
    const std::int64_t plane = row / h_.outputs() / d_.outputs();  // n * K + k
    const std::int64_t k = plane % k_;
    float* dst = data[2] + row * w_.outputs();
    for (std::int64_t i = 0; i < channels_; ++i) {
      const std::int64_t c = k / (k_ / groups_) * channels_ + i;
      const float* src = data[0] + (plane / k_ * groups_ * channels_ + c) * image_;
      const float* weights = data[1] + (k * channels_ + i) * taps_;
      for (std::int64_t t = 0; t < d_.kernel * h_.kernel; ++t, weights += w_.kernel) {
        const std::int64_t d = d_.Start(z) + t / h_.kernel * d_.dilation;
        const std::int64_t h = h_.Start(y) + t % h_.kernel * h_.dilation;
        if (d < 0 || d >= d_.extent || h < 0 || h >= h_.extent) continue;
        const float* from = src + (d * h_.extent + h) * w_.extent;
        for (std::int64_t s = 0; s < w_.kernel; ++s) {
          const std::int64_t offset = s * w_.dilation - w_.pad_before;
          const OutputRange inside = Common(Inside(offset), x);
          for (std::int64_t o = inside.first; o < inside.end; ++o) {
            dst[o] += weights[s] * from[o * w_.stride + offset];
          }
        }
      }
    }
  }

  // Adds to elements [x.first, x.end) of one row of diff_src (N, C, D, H, W).
  void BackwardRow(const LoopOperands& data, std::int64_t row, OutputRange x) const {
    const std::int64_t h = row % h_.extent;
    const std::int64_t d = row / h_.extent % d_.extent;
    const std::int64_t plane = row / h_.extent / d_.extent;  // n * C + c
    const std::int64_t c = plane % (groups_ * channels_);
    const std::int64_t group = c / channels_;
    float* diff_src = data[2] + row * w_.extent;
    for (std::int64_t k = group * (k_ / groups_); k < (group + 1) * (k_ / groups_); ++k) {
      const float* diff_dst = data[0] + (plane / (groups_ * channels_) * k_ + k) * outputs_;
      const float* weights = data[1] + (k * channels_ + c % channels_) * taps_;
      for (std::int64_t t = 0; t < d_.kernel * h_.kernel; ++t, weights += w_.kernel) {
        const std::int64_t z = OutputOf(d_, d, t / h_.kernel);
        const std::int64_t y = OutputOf(h_, h, t % h_.kernel);
        if (z < 0 || y < 0) continue;
        const float* from = diff_dst + (z * h_.outputs() + y) * w_.outputs();
        for (std::int64_t s = 0; s < w_.kernel; ++s) {
          const std::int64_t offset = s * w_.dilation - w_.pad_before;
          const OutputRange inside =
              Common(Inside(offset), OutputsInside(x.end, w_.outputs(), w_.stride, offset));
          const OutputRange before = OutputsInside(x.first, w_.outputs(), w_.stride, offset);
          for (std::int64_t o = std::max(inside.first, before.end); o < inside.end; ++o) {
            diff_src[o * w_.stride + offset] += weights[s] * from[o];
          }
        }
      }
    }
  }

  // The gradient of weight `index` of (K, C/G, KD, KH, KW).
  float WeightGradient(const LoopOperands& data, std::int64_t index) const {
    const std::int64_t offset = index % w_.kernel * w_.dilation - w_.pad_before;
    const std::int64_t r = index / w_.kernel % h_.kernel;
    const std::int64_t t = index / w_.kernel / h_.kernel % d_.kernel;
    const std::int64_t k = index / taps_ / channels_;
    const std::int64_t c = k / (k_ / groups_) * channels_ + index / taps_ % channels_;
    const OutputRange inside = Inside(offset);
    float sum = 0;
    for (std::int64_t n = 0; n < n_; ++n) {
      const float* src = data[0] + (n * groups_ * channels_ + c) * image_;
      const float* diff_dst = data[1] + (n * k_ + k) * outputs_;
      for (std::int64_t row = 0; row < d_.outputs() * h_.outputs(); ++row) {
        const std::int64_t d = d_.Start(row / h_.outputs()) + t * d_.dilation;
        const std::int64_t h = h_.Start(row % h_.outputs()) + r * h_.dilation;
        if (d < 0 || d >= d_.extent || h < 0 || h >= h_.extent) continue;
        const float* from = src + (d * h_.extent + h) * w_.extent;
        const float* by = diff_dst + row * w_.outputs();
        float of_row = 0;
#pragma omp simd reduction(+ : of_row)
        for (std::int64_t o = inside.first; o < inside.end; ++o) {
          of_row += from[o * w_.stride + offset] * by[o];
        }
        sum += of_row;
      }
    }
    return sum;
  }

  OutputRange Inside(std::int64_t offset) const {
    return OutputsInside(w_.extent, w_.outputs(), w_.stride, offset);
  }

  static OutputRange Common(OutputRange a, OutputRange b) {
    return {std::max(a.first, b.first), std::min(a.end, b.end)};
  }

  // The output whose tap reads element `i` of the axis; -1: there is none.
  static std::int64_t OutputOf(const SpatialAxis& axis, std::int64_t i, std::int64_t tap) {
    const std::int64_t start = i + axis.pad_before - tap * axis.dilation;
    if (start < 0 || start % axis.stride != 0) return -1;
    return start / axis.stride < axis.outputs() ? start / axis.stride : -1;
  }

  const Pass pass_;
  const SpatialAxis d_, h_, w_;
  const std::int64_t n_, k_, groups_;
  const std::int64_t channels_;  // of src, in a group
  const double cycles_;
  const std::int64_t image_ = d_.extent * h_.extent * w_.extent;
  const std::int64_t outputs_ = d_.outputs() * h_.outputs() * w_.outputs();
  const std::int64_t taps_ = d_.kernel * h_.kernel * w_.kernel;
};

const KernelRegistration kOnNative("conv_nd", "native", MakeOmpRange<ConvNdLoop>);
const eigen::Registration kForEigen("conv_nd", eigen::MakeRange<ConvNdLoop>);
const FidelityDeclaration kLoopsFidelity[] = {
    FidelityDeclaration({"conv_nd", "eigen", Fidelity::kOurs,
                         "loops on Eigen's pool; TensorFlow contracts implicit patches in three "
                         "dimensions, without dilation (eigen_cuboid_convolution.h)",
                         "conv_ops_3d.cc"}),
    FidelityDeclaration({"conv_nd", "native", Fidelity::kOurs,
                         "loops; Caffe has im2col of any number of axes and sgemm",
                         "layers/base_conv_layer.cpp"}),
};

}  // namespace

}  // namespace topdnn
