// Random changes of training images: the same image looks different in each epoch. The draws depend
// only on the seed, the batch and the image's place in it, so the number of loader threads does not
// change them.

#ifndef TOPDNN_DATASETS_AUGMENTATION_H_
#define TOPDNN_DATASETS_AUGMENTATION_H_

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace topdnn {

// The augmentation of the CIFAR-10 experiments of He et al., Deep Residual Learning for Image
// Recognition (2016), section 4.2: 4 pixels of zeros on each side, a random crop of the image's
// size, and a horizontal flip of half of the images.
struct Augmentation {
  bool crop = false;
  bool flip = false;
  // Scales each image to mean 0 and standard deviation 1, as tf.image.per_image_standardization;
  // otherwise pixels are in [-0.5, 0.5].
  bool normalise = false;
};

// "crop", "flip", "normalise".
std::vector<std::string> AugmentationNames();

// Sets the part of this name. Returns false for an unknown name.
bool SetAugmentation(std::string_view name, Augmentation& augmentation);

// Whether an image is mirrored (left and right exchanged), and the shift in pixels after that.
struct ImageChange {
  std::int64_t down = 0, right = 0;
  bool mirrored = false;
};

// The change of one image: with `crop`, shifts uniform in [-4, 4]; with `flip`, half of the images
// are mirrored.
ImageChange DrawChange(const Augmentation& augmentation, std::mt19937_64& random);

// Copies the image `from` to `to` with the change. Both have `shape` (C, H, W) and do not overlap.
// Pixels that a shift brings in from outside are 0.
void ChangeImage(const Shape& shape, std::span<const float> from, const ImageChange& change,
                 std::span<float> to);

// Subtracts the mean, and divides by the standard deviation, or by 1 / sqrt(size) if that is
// larger.
void NormaliseImage(std::span<float> image);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_AUGMENTATION_H_
