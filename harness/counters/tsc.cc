// The time stamp counter of x86-64 as a clock and as a counter source.

#include <time.h>

#include "harness/counters/clock.h"
#include "harness/counters/event_fold.h"
#include "harness/counters/source.h"

#if defined(__x86_64__)
#include <cpuid.h>
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

// CPUID.80000007H:EDX[8], InvariantTSC (Intel SDM volume 3, 17.17.1; AMD APM volume 3).
bool IsInvariant() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d >> 8 & 1u) != 0;
}

struct Instant {
  std::uint64_t ticks;
  std::uint64_t nanoseconds;
};

// Both clocks at one moment: the closest of some tries, against interrupts between the readings.
Instant Now(const TickClock& raw) {
  Instant best{};
  std::uint64_t closest = ~std::uint64_t{0};
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = NowTsc();
    const std::uint64_t nanoseconds = raw.now();
    const std::uint64_t after = NowTsc();
    if (after - before >= closest) continue;
    closest = after - before;
    best = {.ticks = before + closest / 2, .nanoseconds = nanoseconds};
  }
  return best;
}

// Two instants 20 ms apart, each known to some 20 ns: good to a few parts in a million.
double CalibrateSecondsPerTick() {
  const TickClock raw = MonotonicRawClock();
  const Instant start = Now(raw);
  const timespec pause = {.tv_sec = 0, .tv_nsec = 20'000'000};
  nanosleep(&pause, nullptr);
  const Instant end = Now(raw);
  return static_cast<double>(end.nanoseconds - start.nanoseconds) * 1e-9 /
         static_cast<double>(end.ticks - start.ticks);
}

Availability Probe() {
  if (!IsInvariant()) {
    return {.works = false,
            .reason = "CPUID 80000007H does not promise a time stamp counter of invariant rate",
            .remedy = ""};
  }
  return {.works = true, .reason = "invariant time stamp counter", .remedy = ""};
}

#else

std::uint64_t NowTsc() noexcept { return 0; }
bool IsInvariant() { return false; }
double CalibrateSecondsPerTick() { return 0; }
Availability Probe() {
  return {.works = false, .reason = "only x86 has a time stamp counter", .remedy = ""};
}

#endif

class TscSource final : public CounterSource {
 public:
  std::string_view name() const override { return "tsc"; }
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
                               .probe = Probe,
                               .open = []() -> std::unique_ptr<CounterSource> {
                                 return std::make_unique<TscSource>();
                               }});

}  // namespace

std::optional<TickClock> TscClock() {
  if (!IsInvariant()) return std::nullopt;
  static const double seconds_per_tick = CalibrateSecondsPerTick();
  return TickClock{.name = "tsc", .now = NowTsc, .seconds_per_tick = seconds_per_tick};
}

}  // namespace topdnn
