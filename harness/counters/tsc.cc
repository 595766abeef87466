// The time stamp counter of x86-64 as a clock and as a counter source.

#include "harness/counters/clock.h"
#include "harness/counters/source.h"
#include "harness/machine/clock.h"
#include "harness/machine/cpu.h"
#include "harness/statistics/counting.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace topdnn {

namespace {

#if defined(__x86_64__)

std::uint64_t NowTsc() noexcept {
  _mm_lfence();
  const std::uint64_t ticks = __rdtsc();
  _mm_lfence();
  return ticks;
}

Availability ProbeTsc() {
  if (!IdentifyCpu().invariant_tsc) {
    return {
        .works = false,
        .reason = "CPUID 80000007H does not report a time stamp counter with an invariant rate"};
  }
  if (const std::string reason = TscDistrust(); !reason.empty()) {
    return {.works = false, .reason = reason};
  }
  return {.works = true, .reason = "invariant time stamp counter"};
}

#else

std::uint64_t NowTsc() noexcept { return 0; }
Availability ProbeTsc() { return {.works = false, .reason = "only x86 has a time stamp counter"}; }

#endif

class TscSource final : public CounterSource {
 public:
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 1; }
  void Read(std::uint64_t* raw) noexcept override { *raw = NowTsc(); }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return FoldCounts(before, after);
  }

 private:
  std::vector<std::string> events_ = {"tsc"};
};

const SourceRegistration kTsc({.name = "tsc",
                               .what = "time stamp counter",
                               .choice = "clock",
                               .probe = ProbeTsc,
                               .open = []() -> std::unique_ptr<CounterSource> {
                                 return std::make_unique<TscSource>();
                               }});

}  // namespace

std::optional<TickClock> TscClock() {
  static const bool trusted = ProbeTsc().works;
  if (!trusted) return std::nullopt;
  return TickClock{.name = "tsc", .now = NowTsc, .seconds_per_tick = 1 / TscFrequency().hz};
}

}  // namespace topdnn
