// Opens the data sets that a user names.

#ifndef TOPDNN_DATASETS_OPEN_H_
#define TOPDNN_DATASETS_OPEN_H_

#include <cstdint>
#include <filesystem>

#include "datasets/dataset.h"
#include "datasets/format.h"

namespace topdnn {

// The folder where Debian's package dataset-fashion-mnist installs its files.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";
// Whether `folder` is that folder, also with a slash at its end, or with "." or ".." in the path.
// Links are not followed.
bool IsFashionMnistFolder(const std::filesystem::path& folder);

// Opens a folder of any registered format (format.h), such as CIFAR-10's binary version
// (data_batch_1.bin to data_batch_5.bin, test_batch.bin) or MNIST's files (train-images-idx3-ubyte,
// ..., plain or .gz). Throws DatasetError.
DatasetPair OpenFolder(const std::filesystem::path& folder);

// The number of classes of such a folder. No file is read if the format fixes the number. Throws
// DatasetError.
int ClassesOf(const std::filesystem::path& folder);

// 10,000 training and 1,000 test images of the given shape (C, H, W) and classes; see
// MakeSynthetic.
DatasetPair OpenSynthetic(const Shape& image_shape, int classes, std::uint64_t seed);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_OPEN_H_
