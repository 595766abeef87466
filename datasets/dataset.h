// Images with labels, in the form that a network reads, independent of the file format.

#ifndef TOPDNN_DATASETS_DATASET_H_
#define TOPDNN_DATASETS_DATASET_H_

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "kernels/tensor/tensor.h"

namespace topdnn {

// A file with wrong content. One line: file, offset and fix.
class DatasetError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  // "Fashion-MNIST (training)", "synthetic".
  virtual const std::string& name() const = 0;
  virtual std::int64_t size() const = 0;
  virtual int classes() const = 0;
  // (C, H, W) of one image, as stored.
  virtual const Shape& image_shape() const = 0;
  // Copies image `index` to `pixels` (C*H*W, row-major), scaled to [0, 1].
  virtual void CopyImage(std::int64_t index, std::span<float> pixels) const = 0;
  virtual std::int32_t label(std::int64_t index) const = 0;

 protected:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
};

// Throws DatasetError when PlaceImage cannot place images of shape `from` in shape `to`.
void CheckPlaceable(const Shape& from, const Shape& to);

// Copies an image of shape (C, H, W) = `from` into one of shape `to`. It is centred: a larger `to`
// gets zeros around it, a smaller `to` gets its centre. A single channel is repeated for all
// channels; otherwise the numbers of channels must be equal. For example, it places a 1x28x28 image
// in 3x32x32.
void PlaceImage(const Shape& from, std::span<const float> image, const Shape& to,
                std::span<float> placed);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_DATASET_H_
