#include "datasets/open.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>
#include <vector>

#include "datasets/synthetic.h"

namespace topdnn {

bool IsFashionMnistFolder(const std::filesystem::path& folder) {
  // (a slash is appended to both paths, so a slash at the end of the user's makes no difference)
  return (folder / "").lexically_normal() == std::filesystem::path(kFashionMnistFolder) / "";
}

namespace {

// The format of the data set in the folder. Throws DatasetError if there is none.
const DatasetFormat& FormatOf(const std::filesystem::path& folder) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) {
    throw DatasetError(
        IsFashionMnistFolder(folder)
            ? fmt::format("{}: missing; install the package dataset-fashion-mnist, or give --data",
                          folder.string())
            : fmt::format("{}: no such folder; give a folder with CIFAR-10's binary version or "
                          "(Fashion-)MNIST, or `synthetic`",
                          folder.string()));
  }
  std::vector<std::string> known;
  for (const DatasetFormat& format : DatasetFormats()) {
    if (format.recognises(folder)) return format;
    known.push_back(fmt::format("{} ({})", format.file, format.name));
  }
  throw DatasetError(fmt::format("{}: no known data set; a folder needs one of: {}",
                                 folder.string(), fmt::join(known, ", ")));
}

}  // namespace

DatasetPair OpenFolder(const std::filesystem::path& folder) {
  return FormatOf(folder).open(folder);
}

int ClassesOf(const std::filesystem::path& folder) {
  const DatasetFormat& format = FormatOf(folder);
  return format.classes > 0 ? format.classes : format.open(folder).train->classes();
}

DatasetPair OpenSynthetic(const Shape& image_shape, int classes, std::uint64_t seed) {
  constexpr std::int64_t kTraining = 10000;
  constexpr std::int64_t kTest = 1000;
  return {MakeSynthetic(image_shape, classes, kTraining, seed, 0),
          MakeSynthetic(image_shape, classes, kTest, seed, 1)};
}

}  // namespace topdnn
