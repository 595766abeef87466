// A sequence of two toy stages on a clock that only the stages advance.

#ifndef TOPDNN_TESTS_HARNESS_MEASURE_FIXTURE_H_
#define TOPDNN_TESTS_HARNESS_MEASURE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/measure.h"

namespace topdnn {

// The time in nanoseconds. Only the stages advance it.
inline std::uint64_t fake_now = 0;
inline TickClock FakeClock() {
  return {.name = "fake", .now = []() noexcept { return fake_now; }, .seconds_per_tick = 1e-9};
}

// Counts the work that the stages add.
class FakeSource final : public CounterSource {
 public:
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 2; }
  void Read(std::uint64_t* raw) noexcept override {
    raw[0] = work;
    raw[1] = 7;
  }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return {{.value = static_cast<double>(after[0] - before[0]), .running_fraction = 0.5},
            {.value = std::nullopt, .running_fraction = 0}};
  }
  std::uint64_t work = 0;

 private:
  std::vector<std::string> events_ = {"work", "never"};
};

struct Toy {
  FakeSource* source;
  std::uint64_t nanoseconds;
  std::uint64_t work;
  std::int64_t runs = 0;
  void operator()() {
    ++runs;
    fake_now += nanoseconds;
    source->work += work;
  }
};

// The first check is after 24 steps, the second after 30.
inline constexpr int kMinWarmup = 30;

class MeasureTest : public ::testing::Test {
 protected:
  MeasureTest() {
    options.clock = FakeClock();
    options.iterations = 20;
    options.sources = {&source};
    options.least_warmup_seconds = 0;
    options.waiting = WaitingReader{.nanoseconds = [this] { return waited; }, .cost_seconds = 1e-9};
  }
  std::uint64_t waited = 0;  // by the threads so far, in nanoseconds
  FakeSource source;
  Toy a{&source, 100, 3};
  Toy b{&source, 300, 5};
  std::vector<TimedStage> stages = {{"a", Action::Of(a)}, {"b", Action::Of(b)}};
  MeasureOptions options;
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_MEASURE_FIXTURE_H_
