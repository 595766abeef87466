#include "datasets/dataset.h"

#include <fmt/format.h>

#include <algorithm>

namespace topdnn {

void CheckPlaceable(const Shape& from, const Shape& to) {
  if (from[0] != to[0] && from[0] != 1) {
    throw DatasetError(
        fmt::format("an image of {} cannot be placed in {}: the numbers of channels differ; "
                    "give other images with --data, or `synthetic`",
                    from.ToString(), to.ToString()));
  }
}

void PlaceImage(const Shape& from, std::span<const float> image, const Shape& to,
                std::span<float> placed) {
  CheckPlaceable(from, to);
  std::fill(placed.begin(), placed.end(), 0.0F);
  const std::int64_t rows = std::min(from[1], to[1]);
  const std::int64_t columns = std::min(from[2], to[2]);
  const std::int64_t from_row = (from[1] - rows) / 2;
  const std::int64_t from_column = (from[2] - columns) / 2;
  const std::int64_t to_row = (to[1] - rows) / 2;
  const std::int64_t to_column = (to[2] - columns) / 2;
  for (std::int64_t c = 0; c < to[0]; ++c) {
    const std::int64_t source_channel = from[0] == 1 ? 0 : c;
    for (std::int64_t y = 0; y < rows; ++y) {
      const float* source =
          &image[(source_channel * from[1] + from_row + y) * from[2] + from_column];
      std::copy_n(source, columns, &placed[(c * to[1] + to_row + y) * to[2] + to_column]);
    }
  }
}

}  // namespace topdnn
