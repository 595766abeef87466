#include "datasets/idx.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "datasets/bytes.h"
#include "datasets/format.h"
#include "datasets/open.h"
#include "datasets/pixels.h"

namespace topdnn {

namespace {

constexpr std::uint32_t kImages = 0x00000803;
constexpr std::uint32_t kLabels = 0x00000801;
constexpr int kClasses = 10;
// Far more bytes than any data set of this format has. Limits the memory for a damaged header.
constexpr std::size_t kMaxValues = std::size_t{4} << 30;

std::uint32_t BigEndian(std::span<const unsigned char> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes[at]) << 24 |
         static_cast<std::uint32_t>(bytes[at + 1]) << 16 |
         static_cast<std::uint32_t>(bytes[at + 2]) << 8 | static_cast<std::uint32_t>(bytes[at + 3]);
}

[[noreturn]] void Fail(const std::filesystem::path& path, std::size_t offset,
                       const std::string& what) {
  throw DatasetError(
      fmt::format("{}: offset {}: {}; download it again", path.string(), offset, what));
}

struct Idx {
  std::vector<std::int64_t> extents;
  std::vector<unsigned char> values;
};

constexpr std::size_t HeaderBytes(int rank) { return 4 + 4 * static_cast<std::size_t>(rank); }

// Returns the extents in the header. Throws DatasetError for another header, and if the product of
// the extents is 0 or above kMaxValues.
std::vector<std::int64_t> ReadHeader(const std::filesystem::path& path,
                                     std::span<const unsigned char> head, std::uint32_t magic,
                                     int rank) {
  if (head.size() >= 4 && BigEndian(head, 0) != magic) {
    Fail(path, 0,
         fmt::format("magic number {:#010x}, not {:#010x}: not an IDX file of {}",
                     BigEndian(head, 0), magic, magic == kImages ? "images" : "labels"));
  }
  if (head.size() < HeaderBytes(rank)) {
    Fail(path, head.size(), fmt::format("truncated, the header has {} bytes", HeaderBytes(rank)));
  }
  std::vector<std::int64_t> extents;
  std::uint64_t size = 1;
  for (int d = 0; d < rank; ++d) {
    const std::size_t at = HeaderBytes(d);
    const std::uint32_t extent = BigEndian(head, at);
    if (extent == 0 || size > kMaxValues / extent) {
      Fail(path, at,
           fmt::format("extent {} leaves no data, or more than {} GiB", extent, kMaxValues >> 30));
    }
    size *= extent;
    extents.push_back(extent);
  }
  return extents;
}

Idx Read(const std::filesystem::path& path, std::uint32_t magic, int rank) {
  Idx idx;
  std::size_t length = 0;
  idx.values = ReadFile(path, [&](std::span<const unsigned char> head) {
    idx.extents = ReadHeader(path, head, magic, rank);
    length = HeaderBytes(rank) + static_cast<std::size_t>(Shape(idx.extents).elements());
    return length;
  });
  if (idx.values.size() < length) {
    Fail(path, idx.values.size(),
         fmt::format("truncated, {} of {} bytes are present", idx.values.size(), length));
  }
  idx.values.erase(idx.values.begin(),
                   idx.values.begin() + static_cast<std::ptrdiff_t>(HeaderBytes(rank)));
  return idx;
}

}  // namespace

std::unique_ptr<Dataset> ReadIdx(std::string name, const std::filesystem::path& images,
                                 const std::filesystem::path& labels) {
  Idx pixels = Read(images, kImages, 3);
  Idx classes = Read(labels, kLabels, 1);
  if (pixels.extents[0] != classes.extents[0]) {
    throw DatasetError(
        fmt::format("{}: offset 4: {} labels, but {} images in {}; take both "
                    "files from the same download",
                    labels.string(), classes.extents[0], pixels.extents[0], images.string()));
  }
  for (std::size_t i = 0; i < classes.values.size(); ++i) {
    if (classes.values[i] < kClasses) continue;
    throw DatasetError(fmt::format(
        "{}: offset {}: label {} is out of range, 0 to {}; download it "
        "again, or give a data set of {} classes",
        labels.string(), HeaderBytes(1) + i, classes.values[i], kClasses - 1, kClasses));
  }
  return std::make_unique<PixelDataset>(std::move(name), kClasses,
                                        Shape{1, pixels.extents[1], pixels.extents[2]},
                                        std::move(pixels.values), std::move(classes.values));
}

namespace {

// The path of the file, or of the file with .gz added. Empty when neither exists.
std::filesystem::path PlainOrGzip(const std::filesystem::path& file) {
  std::error_code none;  // a file that cannot be looked up counts as missing
  if (std::filesystem::exists(file, none)) return file;
  std::filesystem::path gzip = file;
  gzip += ".gz";
  return std::filesystem::exists(gzip, none) ? gzip : std::filesystem::path();
}

std::unique_ptr<Dataset> ReadMnist(const std::filesystem::path& folder, const std::string& prefix,
                                   const std::string& name) {
  const std::string images = prefix + "-images-idx3-ubyte";
  const std::string labels = prefix + "-labels-idx1-ubyte";
  for (const std::string& file : {images, labels}) {
    if (PlainOrGzip(folder / file).empty()) {
      throw DatasetError(
          fmt::format("{}: missing, also with .gz; the folder needs the images and the labels",
                      (folder / file).string()));
    }
  }
  return ReadIdx(name, PlainOrGzip(folder / images), PlainOrGzip(folder / labels));
}

bool IsMnist(const std::filesystem::path& folder) {
  return !PlainOrGzip(folder / "train-images-idx3-ubyte").empty();
}

DatasetPair OpenMnist(const std::filesystem::path& folder) {
  const std::string name = IsFashionMnistFolder(folder) ? "Fashion-MNIST" : "MNIST format";
  DatasetPair pair;
  pair.train = ReadMnist(folder, "train", name + " (training)");
  pair.test = ReadMnist(folder, "t10k", name + " (test)");
  return pair;
}

const DatasetFormatRegistration kMnist({.name = "(Fashion-)MNIST",
                                        .file = "train-images-idx3-ubyte[.gz]",
                                        .recognises = IsMnist,
                                        .open = OpenMnist,
                                        .classes = kClasses});

}  // namespace

}  // namespace topdnn
