// Dropout: Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov 2014, "Dropout: A Simple Way
// to Prevent Neural Networks from Overfitting". It is the inverted form that every framework uses:
// training multiplies the kept elements by 1 / (1 - ratio), and inference changes nothing.
// Stochastic depth (Huang, Sun, Liu, Sedra and Weinberger 2016, "Deep Networks with Stochastic
// Depth") is the same for whole images (`rows`).

#ifndef TOPDNN_KERNELS_DROPOUT_DROPOUT_H_
#define TOPDNN_KERNELS_DROPOUT_DROPOUT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/dropout/philox.h"
#include "kernels/op/op.h"

namespace topdnn {

// Decides which elements are kept. The mask depends only on the seed, the step and the element's
// row-major position, so it is the same for any number of threads, layout, type and backend.
class DropoutMask {
 public:
  DropoutMask(float ratio, std::uint64_t seed)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        dropped_below_(static_cast<std::uint64_t>(static_cast<double>(ratio) * 0x1p32)) {}

  // For each of the elements 4 * block to 4 * block + 3: 1 if it is kept, 0 if not.
  std::array<std::uint8_t, 4> Block(std::int64_t block, std::int32_t step) const {
    const auto numbers =
        Philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                    static_cast<std::uint32_t>(step), 0},
                   key_);
    std::array<std::uint8_t, 4> stays = {};
    for (std::size_t i = 0; i < 4; ++i) stays[i] = numbers[i] >= dropped_below_ ? 1 : 0;
    return stays;
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t dropped_below_;
};

// Operands:
//   forward, training   src, step () -> dst, workspace (the mask in row-major order; of rows, one
//                       element for each), step (the number of masks drawn so far; the kernel
//                       increments it)
//   forward, inference  src -> dst, which equals src
//   backward_data       diff_dst, workspace -> diff_src
// Each layer of a network needs its own seed. A dropped element becomes 0, even if it is a NaN or
// an infinity.
class DropoutOp : public Op {
 public:
  // `rows`: whether the first dimension's elements, such as images, are kept or dropped as a whole.
  // Throws std::invalid_argument for extents below 1, a tensor that is too large, a ratio outside
  // [0, 1), or rows of a tensor without dimensions.
  DropoutOp(Shape shape, float ratio, std::uint32_t seed = 0, bool rows = false);

  const Shape& shape() const { return shape_; }
  float ratio() const { return ratio_; }
  std::uint32_t seed() const { return seed_; }
  bool rows() const { return rows_; }
  DropoutMask mask() const { return {ratio_, seed_}; }
  Shape mask_shape() const { return rows_ ? Shape{shape_[0]} : shape_; }
  // The factor that training multiplies kept elements by.
  double scale() const { return 1 / (1 - static_cast<double>(ratio_)); }

  std::string_view kind() const override { return "dropout"; }
  // "64x4096_ratio0.5", "64x4096s7_ratio0.5", "8x96x56x56_ratio0.1_rows"
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // One product per element; none in inference. The generator's integer operations are not counted.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 1; }
  PlannerTraits Traits() const override {
    return {.forward_in_place = true, .backward_data_in_place = true, .copies_in_inference = true};
  }

 private:
  Shape shape_;
  float ratio_;
  std::uint32_t seed_;
  bool rows_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_DROPOUT_DROPOUT_H_
