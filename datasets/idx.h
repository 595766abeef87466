// IDX, the format of MNIST and similar data sets, plain or gzip: a big-endian magic number
// 0x00000803 (images) or 0x00000801 (labels), the extents as 32-bit numbers, then one byte per
// pixel or label (LeCun, Cortes and Burges, "The MNIST database of handwritten digits", file
// formats).

#ifndef TOPDNN_DATASETS_IDX_H_
#define TOPDNN_DATASETS_IDX_H_

#include <filesystem>
#include <memory>
#include <string>

#include "datasets/dataset.h"

namespace topdnn {

// Reads the images and labels of one part of a data set: images of (1, H, W), 10 classes. Throws
// DatasetError.
std::unique_ptr<Dataset> ReadIdx(std::string name, const std::filesystem::path& images,
                                 const std::filesystem::path& labels);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_IDX_H_
