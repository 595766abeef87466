#include "kernels/extents.h"

#include <fmt/format.h>

#include <stdexcept>

namespace topdnn {

void CheckExtents(std::string_view operation, const Shape& shape) {
  std::int64_t room = kMostElements;
  for (const std::int64_t extent : shape.extents()) {
    if (extent < 1) {
      throw std::invalid_argument(
          fmt::format("{} of {}: every extent must be 1 or more", operation, shape.ToString()));
    }
    room /= extent;
  }
  if (room == 0) {
    throw std::invalid_argument(fmt::format("{} of {}: at most {} elements are supported",
                                            operation, shape.ToString(), kMostElements));
  }
}

}  // namespace topdnn
