// Physical pages that can be mapped at given addresses, and a footprint: a few of them, onto which
// many addresses are mapped over and over (remapped_memory.h says what for).

#ifndef TOPDNN_HARNESS_EXPERIMENTS_FOOTPRINT_H_
#define TOPDNN_HARNESS_EXPERIMENTS_FOOTPRINT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/experiments/experiment_error.h"

namespace topdnn {

class RemapError : public ExperimentError {
 public:
  using ExperimentError::ExperimentError;
};

// Throws RemapError with `what` and the text of errno.
[[noreturn]] void ThrowRemapError(const char* what);

inline constexpr std::size_t kRemapPage = 4096;

// The bytes of a footprint: shared by all threads, and for each thread that writes.
struct FootprintSize {
  std::size_t shared = 0;
  std::size_t per_writer = 0;
};

// The largest prime number of pages within `bytes`, at least 2.
std::size_t PrimePages(std::size_t bytes);

// Pages of 4 KiB that all have a mapping at data(). Throws RemapError.
class PageFile {
 public:
  explicit PageFile(std::size_t pages);
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  // Also maps pages `first` to `first + count - 1` at `place`. Replaces what is mapped there.
  void MapAt(std::byte* place, std::size_t first, std::size_t count) const;

  std::byte* data() const { return data_; }

 private:
  int file_ = -1;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

// Shared pages, and separate pages for each of `writers` threads. `size` gives the bytes of both.
class Footprint {
 public:
  Footprint(const FootprintSize& size, int writers);

  // The next Map() begins at the first page of each group again.
  void Clear();
  // Maps the next pages of a group at `place`: of the shared pages, or of a writer. A page that is
  // used for the first time since Clear() is filled anew with small positive normal numbers in f32,
  // bf16 and f16 alike. Throws RemapError.
  void Map(std::byte* place, std::size_t count, std::optional<int> writer);
  // The writers' pages that Map() has used since Clear(), as f32.
  std::vector<std::span<const float>> Written() const;

 private:
  struct Group {
    std::size_t first, pages;  // in the file
    std::size_t used = 0;      // by Map() since Clear(), may exceed `pages`
  };
  std::byte* PageAt(std::size_t page) const { return file_.data() + page * kRemapPage; }

  std::vector<Group> groups_;  // shared, then each writer's
  PageFile file_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_FOOTPRINT_H_
