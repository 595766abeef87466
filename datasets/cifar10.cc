#include "datasets/cifar10.h"

#include <fmt/format.h>

#include <cstdint>
#include <system_error>
#include <utility>

#include "datasets/bytes.h"
#include "datasets/format.h"
#include "datasets/pixels.h"

namespace topdnn {

namespace {

constexpr std::size_t kPixels = std::size_t{3} * 32 * 32;
constexpr std::size_t kRecord = 1 + kPixels;
constexpr int kCifarClasses = 10;
// Each file has 10,000 records. Up to ten times as many are accepted.
constexpr std::size_t kMostCifarBytes = kRecord * 100000;

}  // namespace

std::unique_ptr<Dataset> ReadCifar10(std::string name,
                                     const std::vector<std::filesystem::path>& files) {
  std::vector<unsigned char> pixels;
  std::vector<std::uint8_t> labels;
  for (const std::filesystem::path& path : files) {
    const std::vector<unsigned char> bytes = ReadFile(path, [](auto) { return kMostCifarBytes; });
    if (bytes.empty() || bytes.size() % kRecord != 0) {
      throw DatasetError(
          fmt::format("{}: offset {}: truncated or too long, {} bytes of a record of {}; "
                      "download it again",
                      path.string(), bytes.size(), bytes.size() % kRecord, kRecord));
    }
    for (std::size_t at = 0; at < bytes.size(); at += kRecord) {
      if (bytes[at] >= kCifarClasses) {
        throw DatasetError(
            fmt::format("{}: offset {}: label {} is out of range, 0 to {}; is it "
                        "CIFAR-10's binary version?",
                        path.string(), at, bytes[at], kCifarClasses - 1));
      }
      labels.push_back(bytes[at]);
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(at + 1);
      pixels.insert(pixels.end(), first, first + kPixels);
    }
  }
  return std::make_unique<PixelDataset>(std::move(name), kCifarClasses, Shape{3, 32, 32},
                                        std::move(pixels), std::move(labels));
}

namespace {

bool IsCifar10(const std::filesystem::path& folder) {
  std::error_code none;  // a file that cannot be looked up counts as missing
  return std::filesystem::exists(folder / "data_batch_1.bin", none) ||
         std::filesystem::exists(folder / "test_batch.bin", none);
}

DatasetPair OpenCifar10(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> training;
  for (int i = 1; i <= 5; ++i) training.push_back(folder / fmt::format("data_batch_{}.bin", i));
  return {ReadCifar10("CIFAR-10 (training)", training),
          ReadCifar10("CIFAR-10 (test)", {folder / "test_batch.bin"})};
}

const DatasetFormatRegistration kCifar10({.name = "CIFAR-10's binary version",
                                          .file = "data_batch_1.bin",
                                          .recognises = IsCifar10,
                                          .open = OpenCifar10,
                                          .classes = kCifarClasses});

}  // namespace

}  // namespace topdnn
