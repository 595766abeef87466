#include "harness/experiments/footprint.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace topdnn {

namespace {

using Halves = std::array<std::uint16_t, kRemapPage / sizeof(std::uint16_t)>;

// A page of numbers that are normal, positive and small in f32, bf16 and f16: f32 3e-5 to 8e-3,
// f16 0.5 to 1. Products and sums of many of them stay finite.
constexpr Halves SmallNumbers() {
  constexpr std::uint16_t kLowest = 0x3800;
  constexpr std::uint32_t kMask = 0x3ff;
  std::uint32_t state = 1;
  Halves halves = {};
  for (std::uint16_t& half : halves) {
    state = state * 1664525 + 1013904223;  // Numerical Recipes, 7.1
    half = static_cast<std::uint16_t>(kLowest + (state >> 16 & kMask));
  }
  return halves;
}

constexpr Halves kSmallNumbers = SmallNumbers();

std::vector<std::size_t> GroupPages(const FootprintSize& size, int writers) {
  std::vector<std::size_t> pages = {PrimePages(size.shared)};
  pages.resize(static_cast<std::size_t>(writers) + 1, PrimePages(size.per_writer));
  return pages;
}

std::size_t PagesOf(const FootprintSize& size, int writers) {
  std::size_t sum = 0;
  for (const std::size_t pages : GroupPages(size, writers)) sum += pages;
  return sum;
}

}  // namespace

void ThrowRemapError(const char* what) {
  throw RemapError(fmt::format("cannot remap memory: {}: {}", what, std::strerror(errno)));
}

std::size_t PrimePages(std::size_t bytes) {
  std::size_t pages = std::max<std::size_t>(bytes / kRemapPage, 2);
  const auto prime = [](std::size_t n) {
    for (std::size_t d = 2; d * d <= n; ++d) {
      if (n % d == 0) return false;
    }
    return true;
  };
  while (!prime(pages)) --pages;
  return pages;
}

PageFile::PageFile(std::size_t pages) : bytes_(pages * kRemapPage) {
  file_ = memfd_create("topdnn-remapped", MFD_CLOEXEC);
  if (file_ < 0) ThrowRemapError("memfd_create");
  void* mapped = MAP_FAILED;
  if (ftruncate(file_, static_cast<off_t>(bytes_)) == 0) {
    mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  }
  if (mapped == MAP_FAILED) {
    const int error = errno;
    close(file_);
    errno = error;
    ThrowRemapError("memory for the copies");
  }
  madvise(mapped, bytes_, MADV_NOHUGEPAGE);
  data_ = static_cast<std::byte*>(mapped);
}

PageFile::~PageFile() {
  munmap(data_, bytes_);
  close(file_);
}

void PageFile::MapAt(std::byte* place, std::size_t first, std::size_t count) const {
  void* const mapped =
      mmap(place, count * kRemapPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
           file_, static_cast<off_t>(first * kRemapPage));
  if (mapped == MAP_FAILED) ThrowRemapError("mmap");
}

Footprint::Footprint(const FootprintSize& size, int writers) : file_(PagesOf(size, writers)) {
  std::size_t first = 0;
  for (const std::size_t pages : GroupPages(size, writers)) {
    groups_.push_back({first, pages});
    first += pages;
  }
}

void Footprint::Clear() {
  for (Group& group : groups_) group.used = 0;
}

void Footprint::Map(std::byte* place, std::size_t count, std::optional<int> writer) {
  Group& group = groups_.at(writer ? static_cast<std::size_t>(*writer) + 1 : 0);
  while (count > 0) {
    const std::size_t slot = group.used % group.pages;
    const std::size_t now = std::min(count, group.pages - slot);
    if (group.used < group.pages) {
      for (std::size_t k = 0; k < now; ++k) {
        std::memcpy(PageAt(group.first + slot + k), kSmallNumbers.data(), kRemapPage);
      }
    }
    file_.MapAt(place, group.first + slot, now);
    group.used += now;
    place += now * kRemapPage;
    count -= now;
  }
}

std::vector<std::span<const float>> Footprint::Written() const {
  std::vector<std::span<const float>> written;
  for (std::size_t k = 1; k < groups_.size(); ++k) {
    const Group& group = groups_[k];
    const std::size_t pages = std::min(group.used, group.pages);
    written.emplace_back(reinterpret_cast<const float*>(PageAt(group.first)),
                         pages * kRemapPage / sizeof(float));
  }
  return written;
}

}  // namespace topdnn
