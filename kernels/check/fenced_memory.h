// Memory of an operand between two areas that no code may touch, for a trial of a kernel. A
// pattern fills the space between the operand and these areas. They are large, because a wrong
// index or extent often misses by whole rows or images; they take addresses, but no memory.

#ifndef TOPDNN_KERNELS_CHECK_FENCED_MEMORY_H_
#define TOPDNN_KERNELS_CHECK_FENCED_MEMORY_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace topdnn {

// The place of an operand between its guards.
enum class FencedPlace {
  kAtStart,  // it begins right behind the first guard
  kAtEnd,    // it ends kReadable bytes in front of the last one, or less than `alignment` more
};

class FencedMemory {
 public:
  // A plug-in may read this many bytes after an operand's end (topdnn/plugin.h).
  static constexpr std::size_t kReadable = 64;
  // Bytes of each guard.
  static constexpr std::size_t kGuard = std::size_t{1} << 20;

  // Filled with zeros. `name` is that of the operand, for messages. Throws std::bad_alloc.
  FencedMemory(std::string_view name, std::size_t bytes, FencedPlace place,
               std::size_t alignment = 1);
  ~FencedMemory();
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Fills the operand with bytes 0xff: NaN in every floating-point type.
  void Poison() const;
  // From now on a write to the operand ends the process with SIGSEGV.
  void Protect();
  // Whether nothing was written beside the operand.
  bool Intact() const;

  // What an access to this address means: "writes to its input src", "reads or writes outside of
  // dst"; nullptr if no FencedMemory contains the address. For a signal handler. The text is valid
  // as long as the memory.
  static const char* WhatAccessMeans(const void* address);

 private:
  std::string writes_, leaves_;  // messages
  std::size_t bytes_;
  std::byte* first_;    // of the mapping: the first guard
  std::size_t mapped_;  // bytes, with both guards
  std::byte* data_;
  bool protected_ = false;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CHECK_FENCED_MEMORY_H_
