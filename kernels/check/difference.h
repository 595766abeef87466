// How much the results of a kernel differ from the reference's, element by element. Parts of two
// tensors may be compared by several threads, and joined.

#ifndef TOPDNN_KERNELS_CHECK_DIFFERENCE_H_
#define TOPDNN_KERNELS_CHECK_DIFFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/tensor/tensor.h"

namespace topdnn {

class Difference {
 public:
  // `rounding`: the part of each |b| that is subtracted from a difference (RoundingOfResults).
  explicit Difference(double rounding) : rounding_(rounding) {}

  // Adds an element; `b` is the reference's.
  void Add(double a, double b) {
    zeros_ += b == 0.0 ? 1 : 0;
    if (std::isfinite(a) && std::isfinite(b)) {
      difference_ = std::max(difference_, std::abs(a - b) - rounding_ * std::abs(b));
      largest_ = std::max(largest_, std::abs(b));
    } else if (!(std::isnan(a) && std::isnan(b)) && a != b) {
      infinite_ = true;
    }
  }

  // Adds the elements of another part.
  void Join(const Difference& other) {
    zeros_ += other.zeros_;
    difference_ = std::max(difference_, other.difference_);
    largest_ = std::max(largest_, other.largest_);
    infinite_ = infinite_ || other.infinite_;
  }

  // See RelativeError (kernels/check/tolerance.h).
  double Relative(double scale) const {
    if (infinite_) return std::numeric_limits<double>::infinity();
    if (difference_ == 0) return 0;
    const double largest = std::max(scale, largest_);  // (a scale that is not a number stays)
    return largest > 0 ? difference_ / largest : std::numeric_limits<double>::infinity();
  }

  // Zeros among the reference's elements.
  std::int64_t zeros() const { return zeros_; }

 private:
  double rounding_;
  double difference_ = 0;
  double largest_ = 0;
  bool infinite_ = false;
  std::int64_t zeros_ = 0;
};

// Compares two tensors of the same shape, in any types and layouts with a letter tag, without a
// copy of them. OpenMP threads share the work. Throws std::invalid_argument if the shapes differ,
// or a layout is opaque.
Difference DifferenceOf(const TensorDesc& a_desc, const void* a, const TensorDesc& b_desc,
                        const void* b, double rounding);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CHECK_DIFFERENCE_H_
