// Seeded images of any shape, for networks and machines without real data. Each class has its own
// smooth pattern, and each image is the pattern of its class plus noise, so that a network can
// learn to classify them.

#ifndef TOPDNN_DATASETS_SYNTHETIC_H_
#define TOPDNN_DATASETS_SYNTHETIC_H_

#include <cstdint>
#include <memory>

#include "datasets/dataset.h"

namespace topdnn {

// `size` images of `image_shape` (C, H, W), the same on every machine. Each access computes its
// image; nothing is stored. `classes` is 1 or more. Sets with different `part` (0: training, 1:
// test) have the same patterns and different noise.
std::unique_ptr<Dataset> MakeSynthetic(Shape image_shape, int classes, std::int64_t size,
                                       std::uint64_t seed, std::uint64_t part);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_SYNTHETIC_H_
