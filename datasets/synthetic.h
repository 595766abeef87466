// Seeded images of any shape, for networks and machines without real ones: each class has a smooth
// pattern of its own, and each image is its class's pattern with noise, so that a network can learn
// them.

#ifndef TOPDNN_DATASETS_SYNTHETIC_H_
#define TOPDNN_DATASETS_SYNTHETIC_H_

#include <cstdint>
#include <memory>
#include <string>

#include "datasets/dataset.h"

namespace topdnn {

// `size` images of `image_shape` (C, H, W), the same on every machine. An image is made when it is
// asked for: nothing is kept. Sets of different `part` share the patterns and not the noise.
std::unique_ptr<Dataset> MakeSynthetic(Shape image_shape, int classes, std::int64_t size,
                                       std::uint64_t seed, std::uint64_t part);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_SYNTHETIC_H_
