// Memory that a test can take away, and regions that use it.

#ifndef TOPDNN_TESTS_HARNESS_HIDEABLE_TENSOR_H_
#define TOPDNN_TESTS_HARNESS_HIDEABLE_TENSOR_H_

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "harness/exact/counter.h"

namespace topdnn {

inline constexpr std::size_t kTensorPage = 4096;

// Memory that can be taken away: after Hide, any access ends the program.
class HideableTensor {
 public:
  explicit HideableTensor(std::size_t bytes = 4 * kTensorPage) : bytes_(bytes) {
    data_ = static_cast<std::uint8_t*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t k = 0; k < bytes / sizeof(float); ++k) {
      floats()[k] = 1.0F + static_cast<float>(k);
    }
  }
  ~HideableTensor() { munmap(data_, bytes_); }
  HideableTensor(const HideableTensor&) = delete;
  HideableTensor& operator=(const HideableTensor&) = delete;

  float* floats() const { return reinterpret_cast<float*>(data_); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(data_, bytes_)); }
  void Hide() const { mprotect(data_, bytes_, PROT_NONE); }
  void Show() const { mprotect(data_, bytes_, PROT_READ | PROT_WRITE); }

 private:
  std::size_t bytes_;
  std::uint8_t* data_;
};

using AnyRegion = std::function<void()>;
inline void CallRegion(void* region) { (*static_cast<AnyRegion*>(region))(); }

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kInstrumented = true;
#else
inline constexpr bool kInstrumented = false;
#endif

#define SKIP_WITHOUT_THE_COUNTER()                                                        \
  if (kInstrumented) GTEST_SKIP() << "an instrumented build executes other instructions"; \
  if (const Availability can = ExactCounter::Probe(); !can.works) {                       \
    GTEST_SKIP() << can.reason;                                                           \
  }                                                                                       \
  static_cast<void>(0)
#define SKIP_WITHOUT(isa) \
  if (!__builtin_cpu_supports(isa)) GTEST_SKIP() << "no " << (isa)

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_HIDEABLE_TENSOR_H_
