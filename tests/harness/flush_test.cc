// Flushes memory from the caches, and checks that reading it then takes longer.

#include "harness/measure/flush.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

namespace topdnn {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLines = 256;  // half of a first-level cache

// Cache lines that each hold the number of the next line, in an order that no prefetcher predicts.
class Chain {
 public:
  // Uses the lines `first`, `first` + `step`, ...
  Chain(std::size_t first, std::size_t step) : at_(first) {
    std::vector<std::size_t> order;
    for (std::size_t line = first; line < kLines; line += step) order.push_back(line);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(7));
    length_ = order.size();
    for (std::size_t i = 0; i < length_; ++i) lines_[order[i]].next = order[(i + 1) % length_];
  }

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(lines_)); }

  // Follows the chain once and returns the seconds.
  double Follow() {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < length_; ++i) at_ = lines_[at_].next;
    const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - start;
    return at_ < kLines ? lasted.count() : 0;
  }

 private:
  struct alignas(kLine) Line {
    volatile std::size_t next = 0;
  };
  std::array<Line, kLines> lines_;
  std::size_t length_ = 0;
  std::size_t at_;
};

// The slowdown of the chain after `flush`: the ratio of the fastest of several readings with and
// without it. Other programs can only make readings longer.
template <class Flush>
double Slowdown(Chain& chain, Flush flush) {
  double hot = 1;
  double cold = 1;
  for (int i = 0; i < 20; ++i) {
    chain.Follow();
    hot = std::min(hot, chain.Follow());
    flush();
    cold = std::min(cold, chain.Follow());
  }
  return cold / hot;
}

// A line from memory takes 50 times as long as one from the first level.
constexpr double kMinSlowdown = 3;

// True under qemu-user, for which tests/arm64 sets this variable.
bool IsEmulated() { return std::getenv("QEMU_CPU") != nullptr; }

TEST(FlushTest, AfterwardsTheBytesComeFromMemory) {
  if (IsEmulated()) GTEST_SKIP() << "an emulated CPU has no caches";
  Chain chain(0, 1);
  if (!FlushFromCaches(chain.bytes())) {
    GTEST_SKIP() << "this architecture cannot flush caches from user mode";
  }
  EXPECT_GT(Slowdown(chain, [&] { FlushFromCaches(chain.bytes()); }), kMinSlowdown);
  EXPECT_LT(Slowdown(chain, [&] { FlushFromCaches({}); }), kMinSlowdown);
}

TEST(FlushTest, TheFirstAndTheLastLineAreFlushed) {
  if (IsEmulated()) GTEST_SKIP() << "an emulated CPU has no caches";
  for (const std::size_t first : {0, 1}) {
    Chain chain(first, 2);
    if (!FlushFromCaches(chain.bytes())) {
      GTEST_SKIP() << "this architecture cannot flush caches from user mode";
    }
    // Eight bytes at a time: the last four of an even line and the first four of the odd one.
    const auto flush = [&] {
      for (std::size_t line = 0; line < kLines; line += 2) {
        FlushFromCaches(chain.bytes().subspan(line * kLine + kLine - 4, 8));
      }
    };
    EXPECT_GT(Slowdown(chain, flush), kMinSlowdown) << "lines from " << first;
  }
}

TEST(FlushTest, DoesNotChangeTheBytes) {
  std::vector<std::byte> bytes(1000, std::byte{42});
  FlushFromCaches(std::span(bytes).subspan(3, 900));
  for (const std::byte byte : bytes) ASSERT_EQ(byte, std::byte{42});
}

}  // namespace
}  // namespace topdnn
