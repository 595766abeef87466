#include "datasets/open.h"

#include <fmt/format.h>

#include <system_error>
#include <vector>

#include "datasets/cifar10.h"
#include "datasets/idx.h"
#include "datasets/synthetic.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;

// The path of the file, or of the file with .gz added. Empty when neither exists.
fs::path PlainOrGzip(const fs::path& file) {
  std::error_code none;  // a file that cannot be looked up counts as missing
  if (fs::exists(file, none)) return file;
  fs::path gzip = file;
  gzip += ".gz";
  return fs::exists(gzip, none) ? gzip : fs::path();
}

std::unique_ptr<Dataset> ReadMnist(const fs::path& folder, const std::string& prefix,
                                   const std::string& name) {
  const std::string images = prefix + "-images-idx3-ubyte";
  const std::string labels = prefix + "-labels-idx1-ubyte";
  for (const std::string& file : {images, labels}) {
    if (PlainOrGzip(folder / file).empty()) {
      throw DatasetError(
          fmt::format("{}: missing (also with .gz); the folder needs both parts of "
                      "the data set",
                      (folder / file).string()));
    }
  }
  return ReadIdx(name, PlainOrGzip(folder / images), PlainOrGzip(folder / labels));
}

bool HasCifar10(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / "data_batch_1.bin", none) ||
         fs::exists(folder / "test_batch.bin", none);
}

}  // namespace

DatasetPair OpenFolder(const fs::path& folder) {
  const bool is_default = folder == kFashionMnistFolder;
  std::error_code none;
  if (!fs::is_directory(folder, none)) {
    throw DatasetError(
        is_default
            ? fmt::format("{}: missing; install the package dataset-fashion-mnist, or give --data",
                          folder.string())
            : fmt::format("{}: no such folder; give a folder with CIFAR-10's binary version or "
                          "(Fashion-)MNIST, or `synthetic`",
                          folder.string()));
  }
  if (HasCifar10(folder)) {
    std::vector<fs::path> training;
    for (int i = 1; i <= 5; ++i) training.push_back(folder / fmt::format("data_batch_{}.bin", i));
    return {ReadCifar10("CIFAR-10 (training)", training),
            ReadCifar10("CIFAR-10 (test)", {folder / "test_batch.bin"})};
  }
  if (!PlainOrGzip(folder / "train-images-idx3-ubyte").empty()) {
    const std::string name = is_default ? "Fashion-MNIST" : "MNIST format";
    return {ReadMnist(folder, "train", name + " (training)"),
            ReadMnist(folder, "t10k", name + " (test)")};
  }
  throw DatasetError(
      fmt::format("{}: contains neither data_batch_1.bin (CIFAR-10's binary version) "
                  "nor train-images-idx3-ubyte[.gz] ((Fashion-)MNIST)",
                  folder.string()));
}

DatasetPair OpenSynthetic(const Shape& image_shape, int classes, std::uint64_t seed) {
  constexpr std::int64_t kTraining = 10000;
  constexpr std::int64_t kTest = 1000;
  return {MakeSynthetic(image_shape, classes, kTraining, seed, 0),
          MakeSynthetic(image_shape, classes, kTest, seed, 1)};
}

}  // namespace topdnn
