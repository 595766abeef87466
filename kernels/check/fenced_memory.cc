#include "kernels/check/fenced_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace topdnn {

namespace {

constexpr auto kPattern = std::byte{0xff};

std::size_t RoundedUp(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// The FencedMemory objects that exist, for the signal handler. A fixed array, because a handler may
// not allocate.
std::array<const FencedMemory*, 64> live;

}  // namespace

FencedMemory::FencedMemory(std::string_view name, std::size_t bytes, FencedPlace place,
                           std::size_t alignment)
    : writes_(fmt::format("writes to its input {}", name)),
      leaves_(fmt::format("reads or writes outside of {}", name)),
      bytes_(bytes) {
  const std::size_t needed = RoundedUp(bytes, alignment) + RoundedUp(kReadable, alignment);
  // (some kernels of arm64 have pages of 64 KiB)
  const std::size_t inner = RoundedUp(needed, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  mapped_ = inner + 2 * kGuard;
  void* const memory =
      mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  first_ = static_cast<std::byte*>(memory);
  if (mprotect(first_ + kGuard, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(first_, mapped_);
    throw std::bad_alloc();
  }
  data_ = first_ + kGuard + (place == FencedPlace::kAtStart ? 0 : inner - needed);
  std::fill(first_ + kGuard, data_, kPattern);
  std::fill(data_ + bytes_, first_ + kGuard + inner, kPattern);
  *std::find(live.begin(), live.end() - 1, nullptr) = this;
}

FencedMemory::~FencedMemory() {
  std::replace(live.begin(), live.end(), static_cast<const FencedMemory*>(this),
               static_cast<const FencedMemory*>(nullptr));
  munmap(first_, mapped_);
}

void FencedMemory::Poison() const { std::memset(data_, std::to_integer<int>(kPattern), bytes_); }

void FencedMemory::Protect() {
  protected_ = true;
  mprotect(first_ + kGuard, mapped_ - 2 * kGuard, PROT_READ);
}

bool FencedMemory::Intact() const {
  const auto untouched = [](std::byte b) { return b == kPattern; };
  return std::all_of(first_ + kGuard, data_, untouched) &&
         std::all_of(data_ + bytes_, first_ + mapped_ - kGuard, untouched);
}

const char* FencedMemory::WhatAccessMeans(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  for (const FencedMemory* memory : live) {
    if (memory == nullptr || at < memory->first_ || at >= memory->first_ + memory->mapped_) {
      continue;
    }
    const bool guard =
        at < memory->first_ + kGuard || at >= memory->first_ + memory->mapped_ - kGuard;
    return !guard && memory->protected_ ? memory->writes_.c_str() : memory->leaves_.c_str();
  }
  return nullptr;
}

}  // namespace topdnn
