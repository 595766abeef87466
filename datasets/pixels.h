// A data set whose images are all in memory as bytes, as in IDX and CIFAR files.

#ifndef TOPDNN_DATASETS_PIXELS_H_
#define TOPDNN_DATASETS_PIXELS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace topdnn {

class PixelDataset : public Dataset {
 public:
  // `pixels` are the labels.size() images of `image_shape`, row-major, 0..255.
  PixelDataset(std::string name, int classes, Shape image_shape, std::vector<unsigned char> pixels,
               std::vector<std::uint8_t> labels)
      : name_(std::move(name)),
        classes_(classes),
        image_shape_(std::move(image_shape)),
        pixels_(std::move(pixels)),
        labels_(std::move(labels)) {}

  const std::string& name() const override { return name_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  int classes() const override { return classes_; }
  const Shape& image_shape() const override { return image_shape_; }
  std::int32_t label(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(index)];
  }
  void CopyImage(std::int64_t index, std::span<float> pixels) const override {
    const std::int64_t size = image_shape_.elements();
    const unsigned char* image = pixels_.data() + index * size;
    for (std::int64_t i = 0; i < size; ++i) pixels[i] = static_cast<float>(image[i]) / 255.0F;
  }

 private:
  std::string name_;
  int classes_;
  Shape image_shape_;
  std::vector<unsigned char> pixels_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_PIXELS_H_
