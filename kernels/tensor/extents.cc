#include "kernels/tensor/extents.h"

#include <fmt/ranges.h>

#include <stdexcept>

namespace topdnn {

void CheckExtents(std::string_view operation, const Shape& shape) {
  std::int64_t room = kMaxElements;
  for (const std::int64_t extent : shape.extents()) {
    if (extent < 1) {
      throw std::invalid_argument(
          fmt::format("{} of {}: every extent must be 1 or more", operation, shape.ToString()));
    }
    room /= extent;
  }
  if (room == 0) {
    throw std::invalid_argument(fmt::format("{} of {}: at most {} elements are supported",
                                            operation, shape.ToString(), kMaxElements));
  }
}

void CheckWork(std::string_view operation, std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kMaxSteps = std::int64_t{1} << 60;
  std::int64_t steps = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(steps, factor, &steps) || steps > kMaxSteps) {
      throw std::invalid_argument(fmt::format("{} of {} steps: at most 2^60 can be counted",
                                              operation, fmt::join(factors, " x ")));
    }
  }
}

}  // namespace topdnn
