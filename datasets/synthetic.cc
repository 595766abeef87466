#include "datasets/synthetic.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <utility>

namespace topdnn {

namespace {

// SplitMix64 (Steele, Lea and Flood 2014): maps an integer to a well-mixed one. So the numbers of
// any image can be computed without those of the images before it.
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Uniform in [0, 1).
double Uniform(std::uint64_t x) { return static_cast<double>(Mix(x) >> 11) * 0x1p-53; }

class Synthetic : public Dataset {
 public:
  Synthetic(Shape image_shape, int classes, std::int64_t size, std::uint64_t seed,
            std::uint64_t part)
      : name_(fmt::format("synthetic {} ({})", image_shape.ToString(),
                          part == 0 ? "training" : "test")),
        image_shape_(std::move(image_shape)),
        classes_(classes),
        size_(size),
        seed_(Mix(seed)),
        noise_(Mix(seed ^ Mix(part + 1))) {}

  const std::string& name() const override { return name_; }
  std::int64_t size() const override { return size_; }
  int classes() const override { return classes_; }
  const Shape& image_shape() const override { return image_shape_; }
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(Mix(noise_ ^ static_cast<std::uint64_t>(index)) %
                                     static_cast<std::uint64_t>(classes_));
  }

  void CopyImage(std::int64_t index, std::span<float> pixels) const override {
    const std::uint64_t pattern = Mix(seed_ + static_cast<std::uint64_t>(label(index)));
    const std::uint64_t noise = Mix(noise_ + 2 * static_cast<std::uint64_t>(index) + 1);
    std::size_t at = 0;
    for (std::int64_t c = 0; c < image_shape_[0]; ++c) {
      // A wave across the channel. Its direction, length and phase depend on the class.
      const std::uint64_t own = Mix(pattern + static_cast<std::uint64_t>(c));
      const double down = 1 + 4 * Uniform(own);
      const double across = 1 + 4 * Uniform(own + 1);
      const double phase = 2 * std::numbers::pi * Uniform(own + 2);
      for (std::int64_t y = 0; y < image_shape_[1]; ++y) {
        for (std::int64_t x = 0; x < image_shape_[2]; ++x, ++at) {
          const double turn =
              down * static_cast<double>(y) / static_cast<double>(image_shape_[1]) +
              across * static_cast<double>(x) / static_cast<double>(image_shape_[2]);
          const double wave = 0.5 + 0.25 * std::sin(2 * std::numbers::pi * turn + phase);
          pixels[at] = static_cast<float>(wave + 0.5 * (Uniform(noise + at) - 0.5));
        }
      }
    }
  }

 private:
  std::string name_;
  Shape image_shape_;
  int classes_;
  std::int64_t size_;
  std::uint64_t seed_, noise_;
};

}  // namespace

std::unique_ptr<Dataset> MakeSynthetic(Shape image_shape, int classes, std::int64_t size,
                                       std::uint64_t seed, std::uint64_t part) {
  return std::make_unique<Synthetic>(std::move(image_shape), classes, size, seed, part);
}

}  // namespace topdnn
