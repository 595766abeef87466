// Shares of denormals in arrays made by hand, and the mode of every thread.

#include "harness/experiments/denormals.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace topdnn {
namespace {

template <typename Element>
double ShareIn(FloatFormat format, const std::vector<Element>& elements, std::size_t most = 0) {
  return DenormalShare(format, elements.data(), elements.size(), most);
}

// 0, -0, the smallest normal number, infinity and NaN are not denormal.
TEST(DenormalShareTest, CountsOnlyDenormals) {
  const float normal = std::numeric_limits<float>::min();
  EXPECT_EQ(ShareIn<float>(FloatFormat::kF32,
                           {0, -0.0F, normal, 1, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), normal / 2, -1e-45F}),
            2.0 / 8);
  EXPECT_EQ(ShareIn<double>(FloatFormat::kF64, {1e-310, 1e-300, 0, -5e-324}), 2.0 / 4);
  // f16: the smallest denormal, the largest one (6.098e-5), the smallest normal one, 0, -0,
  // infinity.
  EXPECT_EQ(ShareIn<std::uint16_t>(FloatFormat::kF16, {0x0001, 0x83ff, 0x0400, 0, 0x8000, 0x7c00}),
            2.0 / 6);
  // bf16: the same; 0x03ff is normal here.
  EXPECT_EQ(ShareIn<std::uint16_t>(FloatFormat::kBF16,
                                   {0x0001, 0x807f, 0x0080, 0x03ff, 0, 0x8000, 0x7f80, 0x7fc0}),
            2.0 / 8);
  EXPECT_EQ(ShareIn<float>(FloatFormat::kF32, {}), 0);
}

// Every tenth one, read in blocks.
TEST(DenormalShareTest, ASampleIsNearTheWhole) {
  std::vector<float> values(100'003, 1.0F);
  for (std::size_t i = 0; i < values.size(); i += 10) values[i] = 1e-40F;
  EXPECT_NEAR(ShareIn(FloatFormat::kF32, values), 0.1, 1e-5);
  EXPECT_NEAR(ShareIn(FloatFormat::kF32, values, 10'000), 0.1, 1e-3);
}

#if defined(__x86_64__)

constexpr unsigned kFlush = 0x8040;

std::vector<unsigned> ModesOfTeam(int threads) {
  std::vector<unsigned> modes(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  modes[static_cast<std::size_t>(omp_get_thread_num())] = _mm_getcsr() & kFlush;
  return modes;
}

// A thread that waits, as those of Eigen's pool do, until it is asked for its mode.
class WaitingThread {
 public:
  explicit WaitingThread(unsigned mode)
      : thread_([this, mode] {
          _mm_setcsr(_mm_getcsr() | mode);
          std::unique_lock lock(mutex_);
          ready_ = true;
          changed_.notify_all();
          changed_.wait(lock, [this] { return asked_; });
          found_ = _mm_getcsr() & kFlush;
        }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_; });
  }
  unsigned Mode() {
    {
      const std::lock_guard lock(mutex_);
      asked_ = true;
    }
    changed_.notify_all();
    thread_.join();
    return found_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false, asked_ = false;
  unsigned found_ = ~0U;
  std::thread thread_;  // (last: it uses the others)
};

TEST(FlushModeTest, SetsAndRestoresEveryThread) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer's own thread blocks every signal";
#endif
  constexpr int kThreads = 3;
  const std::vector<unsigned> off(kThreads, 0), on(kThreads, kFlush);
  ASSERT_EQ(ModesOfTeam(kThreads), off);
  WaitingThread flushed(0), restored(0), own(0x8000);
  {
    FlushMode mode;
    EXPECT_EQ(mode.flushed_before(), 1U);
    mode.Flush();
    EXPECT_EQ(ModesOfTeam(kThreads), on);
    mode.AsFound();
    EXPECT_EQ(ModesOfTeam(kThreads), off);
    mode.Flush();
    EXPECT_EQ(flushed.Mode(), kFlush);
  }
  EXPECT_EQ(ModesOfTeam(kThreads), off);
  EXPECT_EQ(restored.Mode(), 0U);
  EXPECT_EQ(own.Mode(), 0x8000U);  // what a library has set stays
}

// A denormal product of normal numbers, computed by every thread of a team.
TEST(FlushModeTest, FlushedResultsAreZero) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer's own thread blocks every signal";
#endif
  constexpr int kThreads = 3;
  const auto products = [] {
    std::vector<float> found(kThreads, 1e-20F);
#pragma omp parallel num_threads(kThreads)
    {
      float& product = found[static_cast<std::size_t>(omp_get_thread_num())];
      asm volatile("mulss %1, %0" : "+x"(product) : "x"(1e-19F));
    }
    return found;
  };
  FlushMode mode;
  EXPECT_GT(products()[kThreads - 1], 0);
  EXPECT_LT(products()[kThreads - 1], std::numeric_limits<float>::min());
  mode.Flush();
  const std::vector<float> flushed = products();
  mode.AsFound();
  EXPECT_EQ(flushed, std::vector<float>(kThreads, 0));
}

#else

TEST(FlushModeTest, SaysWhyNot) { EXPECT_NE(WhyNoFlushing(), ""); }

#endif

}  // namespace
}  // namespace topdnn
