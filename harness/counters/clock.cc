#include "harness/counters/clock.h"

#include <time.h>

#include "harness/counters/source.h"
#include "harness/statistics/counting.h"

namespace topdnn {

namespace {

std::uint64_t NowRaw() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// perf's name for elapsed nanoseconds is duration_time.
class ClockSource final : public CounterSource {
 public:
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 1; }
  void Read(std::uint64_t* raw) noexcept override { *raw = NowRaw(); }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return FoldCounts(before, after);
  }

 private:
  std::vector<std::string> events_ = {"duration_time"};
};

Availability ProbeClock() {
  timespec resolution{};
  if (clock_getres(CLOCK_MONOTONIC_RAW, &resolution) != 0) {
    return {.works = false, .reason = "the kernel has no CLOCK_MONOTONIC_RAW"};
  }
  return {.works = true, .reason = "CLOCK_MONOTONIC_RAW, nanoseconds"};
}

const SourceRegistration kClock({.name = "clock",
                                 .what = "monotonic clock of the kernel",
                                 .choice = "clock",
                                 .probe = ProbeClock,
                                 .open = []() -> std::unique_ptr<CounterSource> {
                                   return std::make_unique<ClockSource>();
                                 }});

}  // namespace

TickClock MonotonicRawClock() {
  return {.name = "CLOCK_MONOTONIC_RAW", .now = NowRaw, .seconds_per_tick = 1e-9};
}

TickClock BestClock() {
  const std::optional<TickClock> tsc = TscClock();
  return tsc ? *tsc : MonotonicRawClock();
}

}  // namespace topdnn
