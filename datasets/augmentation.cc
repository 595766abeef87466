#include "datasets/augmentation.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace topdnn {

namespace {

constexpr std::uint64_t kPadding = 4;  // pixels of zeros on each side before the crop

struct NamedPart {
  std::string_view name;
  bool Augmentation::*part;
};

constexpr std::array<NamedPart, 3> kParts = {{{"crop", &Augmentation::crop},
                                              {"flip", &Augmentation::flip},
                                              {"normalise", &Augmentation::normalise}}};

}  // namespace

std::vector<std::string> AugmentationNames() {
  std::vector<std::string> names;
  names.reserve(std::size(kParts));
  for (const NamedPart& part : kParts) names.emplace_back(part.name);
  return names;
}

bool SetAugmentation(std::string_view name, Augmentation& augmentation) {
  for (const NamedPart& part : kParts) {
    if (part.name != name) continue;
    augmentation.*part.part = true;
    return true;
  }
  return false;
}

ImageChange DrawChange(const Augmentation& augmentation, std::mt19937_64& random) {
  ImageChange change;
  // Remainders instead of the C++ library's distributions, which differ between implementations.
  const auto shift = [&random] {
    return static_cast<std::int64_t>(random() % (2 * kPadding + 1)) -
           static_cast<std::int64_t>(kPadding);
  };
  if (augmentation.crop) {
    change.down = shift();
    change.right = shift();
  }
  if (augmentation.flip) change.mirrored = random() % 2 == 1;
  return change;
}

void ChangeImage(const Shape& shape, std::span<const float> from, const ImageChange& change,
                 std::span<float> to) {
  const std::int64_t height = shape[1];
  const std::int64_t width = shape[2];
  std::fill(to.begin(), to.end(), 0.0F);
  for (std::int64_t c = 0; c < shape[0]; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      const std::int64_t from_y = y - change.down;
      if (from_y < 0 || from_y >= height) continue;
      const std::int64_t from_row = (c * height + from_y) * width;
      const std::int64_t to_row = (c * height + y) * width;
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t shifted = x - change.right;
        if (shifted < 0 || shifted >= width) continue;
        const std::int64_t from_x = change.mirrored ? width - 1 - shifted : shifted;
        to[static_cast<std::size_t>(to_row + x)] =
            from[static_cast<std::size_t>(from_row + from_x)];
      }
    }
  }
}

void NormaliseImage(std::span<float> image) {
  const auto size = static_cast<double>(image.size());
  double sum = 0;
  for (const float pixel : image) sum += static_cast<double>(pixel);
  const double mean = sum / size;
  double squares = 0;
  for (const float pixel : image) {
    const double distance = static_cast<double>(pixel) - mean;
    squares += distance * distance;
  }
  const double deviation = std::max(std::sqrt(squares / size), 1.0 / std::sqrt(size));
  for (float& pixel : image) {
    pixel = static_cast<float>((static_cast<double>(pixel) - mean) / deviation);
  }
}

}  // namespace topdnn
