// A file format of a data set in a folder. Each format's file registers it, so adding a format
// means adding one file.

#ifndef TOPDNN_DATASETS_FORMAT_H_
#define TOPDNN_DATASETS_FORMAT_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace topdnn {

struct DatasetPair {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
};

struct DatasetFormat {
  std::string name;  // "CIFAR-10's binary version"
  std::string file;  // the file by which a folder is recognised, for messages
  bool (*recognises)(const std::filesystem::path& folder);
  DatasetPair (*open)(const std::filesystem::path& folder);  // throws DatasetError
  int classes = 0;                                           // 0: known only from the files
};

class DatasetFormatRegistration {
 public:
  // Throws std::logic_error if a format of this name is registered already.
  explicit DatasetFormatRegistration(DatasetFormat format);
};

// Every registered format, sorted by name.
const std::vector<DatasetFormat>& DatasetFormats();

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_FORMAT_H_
