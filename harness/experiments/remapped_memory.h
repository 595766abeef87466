// Exchanges the physical pages behind memory. The addresses, and the code that uses them, do not
// change.
//
// The caches of x86 from L2 on find a line by its physical address. So code needs no more cache
// than the pages behind its addresses. A footprint is a few pages, onto which all addresses are
// mapped, over and over. On it, the code runs without misses beyond the footprint's level. The
// difference from the time on its own pages is the time that it waits for memory. What it computes
// on a footprint is wrong; memory_experiment.h says what that requires.
//
// - A footprint has a prime number of pages: strides of a power of two would otherwise fall on one
//   page, whose sets of the cache overflow.
// - Two threads that write the same line would exchange it. So each thread that writes has pages of
//   its own, and pages that are only read are shared. The first write of a thread decides.
// - A page that contains addresses (a list of operands that a library writes into its scratch
//   memory) keeps its own page, and so does memory that the caller excludes (indices).
// - The own pages are copies of 4 KiB, as in the footprint, because a difference in page size alone
//   changes times by several percent. The original pages, huge ones included, are moved aside and
//   back, so that nothing else changes.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_REMAPPED_MEMORY_H_
#define TOPDNN_HARNESS_EXPERIMENTS_REMAPPED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/experiments/footprint.h"
#include "harness/measure/measure.h"

namespace topdnn {

// Why this machine cannot remap memory; empty if it can.
std::string WhyNoRemapping();

// The pages that a region uses. A page number counts the pages of all ranges, in their order.
struct TouchedPages {
  // How a page is used; kWritten + k: written, first by thread k.
  enum Use : std::uint8_t { kUnused = 0, kRead = 1, kKept = 2, kWritten = 3 };

  struct Run {  // consecutive pages of one use
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint8_t use = kUnused;
  };
  std::vector<Run> runs;

  std::size_t PagesWith(bool kept) const;
  std::size_t remapped_bytes() const { return PagesWith(false) * kRemapPage; }
  std::size_t kept_bytes() const { return PagesWith(true) * kRemapPage; }
};

class RemappedMemory {
 public:
  // Takes the whole pages inside of `ranges`, which must not overlap and must be private anonymous
  // memory, and puts their own copies in their place. Throws RemapError; then nothing has changed.
  RemappedMemory(std::span<const std::span<std::byte>> ranges, int threads,
                 std::span<const FootprintSize> footprints);
  // Puts the original pages back, with their original contents.
  ~RemappedMemory();
  RemappedMemory(const RemappedMemory&) = delete;
  RemappedMemory& operator=(const RemappedMemory&) = delete;

  // Runs `region` on its own pages and finds out by page faults which of them it reads and writes.
  // In ranges of 4 MiB and more, 16 pages count as one. Pages that overlap `keep` are never mapped
  // onto a footprint. Only one object at a time may run Touch. Throws RemapError.
  TouchedPages Touch(const Action& region, std::span<const std::span<const std::byte>> keep);

  // Maps the pages onto a footprint, whose pages are filled anew. Throws RemapError; then some
  // pages may still have their own.
  void MapFootprint(std::size_t footprint, const TouchedPages& pages);
  // Maps the pages to their own again.
  void MapOwn(const TouchedPages& pages);

  // Gives the own pages the contents of the original ones again.
  void ResetContents();

  // The pages of a footprint that threads may have written since it was mapped, as f32.
  std::vector<std::span<const float>> Written(std::size_t footprint) const;

  std::size_t bytes() const;  // of all pages taken

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_REMAPPED_MEMORY_H_
