#include "kernels/op/spatial_axis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/tensor/extents.h"

namespace topdnn {

void CheckAxes(std::string_view operation, const std::vector<SpatialAxis>& axes) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("{}: {}", operation, why));
  };
  if (axes.empty() || axes.size() > kMaxSpatialAxes) refuse("it needs one to three spatial axes");
  for (const SpatialAxis& axis : axes) {
    if (std::min({axis.extent, axis.kernel, axis.stride, axis.dilation}) < 1) {
      refuse("extent, kernel, stride and dilation must be 1 or more");
    }
    if (std::min(axis.pad_before, axis.pad_after) < 0) refuse("padding must be 0 or more");
    if (std::max({axis.kernel, axis.stride, axis.dilation, axis.pad_before, axis.pad_after}) >
            kMaxWindow ||
        axis.extent > kMaxElements) {
      refuse(fmt::format("kernel, stride, dilation and padding must be at most {}", kMaxWindow));
    }
    if (axis.extent + axis.pad_before + axis.pad_after < axis.reach()) {
      refuse("the window is larger than the padded image");
    }
  }
}

std::array<SpatialAxis, kMaxSpatialAxes> InThree(const std::vector<SpatialAxis>& axes) {
  std::array<SpatialAxis, kMaxSpatialAxes> three;
  std::copy_backward(axes.begin(), axes.end(), three.end());
  return three;
}

namespace {

struct AxisFlag {
  const char* name;
  std::int64_t SpatialAxis::*field;
};

constexpr AxisFlag kFlags[] = {{"kernel", &SpatialAxis::kernel},
                               {"stride", &SpatialAxis::stride},
                               {"dilation", &SpatialAxis::dilation},
                               {"before", &SpatialAxis::pad_before},
                               {"after", &SpatialAxis::pad_after}};

}  // namespace

std::string SpellAxes(const std::vector<SpatialAxis>& axes) {
  std::string text;
  for (const AxisFlag& flag : kFlags) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(axes.size());
    for (const SpatialAxis& axis : axes) numbers.push_back(axis.*flag.field);
    text += fmt::format("_{}{}", flag.name, fmt::join(numbers, "x"));
  }
  return text;
}

std::vector<SpatialAxis> ReadAxes(const ProblemWord& word, const Shape& shape) {
  constexpr int kFirst = 2;
  if (shape.rank() <= kFirst) throw std::invalid_argument("the shape needs axes after (N, C)");
  std::vector<SpatialAxis> axes(static_cast<std::size_t>(shape.rank() - kFirst));
  for (std::size_t a = 0; a < axes.size(); ++a) {
    axes[a].extent = shape[static_cast<int>(a) + kFirst];
  }
  for (const AxisFlag& flag : kFlags) {
    const std::vector<std::int64_t> numbers = word.WholeNumbers(flag.name);
    if (numbers.size() != axes.size()) {
      throw std::invalid_argument(fmt::format("_{} needs one number for each axis", flag.name));
    }
    for (std::size_t a = 0; a < axes.size(); ++a) axes[a].*flag.field = numbers[a];
  }
  return axes;
}

}  // namespace topdnn
