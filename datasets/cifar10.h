// CIFAR-10's binary version: records of 3073 bytes, each with a label and 1024 red, 1024 green and
// 1024 blue pixels of a 32x32 image (Krizhevsky 2009, https://www.cs.toronto.edu/~kriz/cifar.html).

#ifndef TOPDNN_DATASETS_CIFAR10_H_
#define TOPDNN_DATASETS_CIFAR10_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace topdnn {

// Reads the records of all files in order: images of (3, 32, 32), 10 classes. Throws DatasetError
// when a file cannot be read (bytes.h), does not consist of whole records, or has a label above 9.
std::unique_ptr<Dataset> ReadCifar10(std::string name,
                                     const std::vector<std::filesystem::path>& files);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_CIFAR10_H_
