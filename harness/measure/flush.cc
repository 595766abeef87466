#include "harness/measure/flush.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <cstdint>

namespace topdnn {

#if defined(__x86_64__)

namespace {

// CPUID.1:EBX[15:8], which is in units of 8 bytes. It is 64 bytes on every x86-64 CPU so far.
std::size_t LineBytes() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return 64;
  const std::size_t bytes = (b >> 8 & 0xffu) * 8;
  return bytes == 0 ? 64 : bytes;
}

// CPUID.(7,0):EBX[23].
bool HasClflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 23 & 1u) != 0;
}

// CLFLUSHOPT is unordered between lines and so several times faster than CLFLUSH.
__attribute__((target("clflushopt"))) void FlushUnordered(std::uintptr_t begin, std::uintptr_t end,
                                                          std::size_t line) {
  for (std::uintptr_t at = begin; at < end; at += line) {
    _mm_clflushopt(reinterpret_cast<void*>(at));  // NOLINT(performance-no-int-to-ptr)
  }
}

void FlushOrdered(std::uintptr_t begin, std::uintptr_t end, std::size_t line) {
  for (std::uintptr_t at = begin; at < end; at += line) {
    _mm_clflush(reinterpret_cast<const void*>(at));  // NOLINT(performance-no-int-to-ptr)
  }
}

}  // namespace

bool FlushFromCaches(std::span<const std::byte> bytes) noexcept {
  static const std::size_t line = LineBytes();
  static const bool unordered = HasClflushopt();
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t begin = address / line * line;
  const std::uintptr_t end = address + bytes.size();
  if (bytes.empty()) return true;
  (unordered ? FlushUnordered : FlushOrdered)(begin, end, line);
  _mm_mfence();
  return true;
}

#elif defined(__aarch64__)

namespace {

// CTR_EL0.DminLine: log2 of the 4-byte words in the smallest line of all data caches (Arm ARM,
// D19.2.34). Linux lets programs read this register, and clean and invalidate lines.
std::size_t LineBytes() {
  std::uint64_t type = 0;
  asm volatile("mrs %0, ctr_el0" : "=r"(type));
  return std::size_t{4} << (type >> 16 & 0xF);
}

}  // namespace

bool FlushFromCaches(std::span<const std::byte> bytes) noexcept {
  static const std::size_t line = LineBytes();
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t end = address + bytes.size();
  if (bytes.empty()) return true;
  for (std::uintptr_t at = address & ~(line - 1); at < end; at += line) {
    asm volatile("dc civac, %0" : : "r"(at) : "memory");
  }
  asm volatile("dsb sy" : : : "memory");
  return true;
}

#else

bool FlushFromCaches(std::span<const std::byte>) noexcept { return false; }

#endif

}  // namespace topdnn
