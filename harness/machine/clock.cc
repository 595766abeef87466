#include "harness/machine/clock.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

std::int64_t RawNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The two clocks at one moment.
struct Moment {
  std::int64_t nanoseconds = 0;
  std::uint64_t ticks = 0;
};

// Of a few tries, uses the one with the shortest call of the raw clock, since an interrupt between
// the two readings would falsify the pair.
Moment Now() {
  Moment best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t before = ReadTsc();
    const std::int64_t nanoseconds = RawNanoseconds();
    const std::uint64_t after = ReadTsc();
    if (after - before < shortest) {
      shortest = after - before;
      best = {nanoseconds, before + (after - before) / 2};
    }
  }
  return best;
}

template <std::size_t N>
Frequency Largest(std::array<double, N> windows) {
  const double largest = *std::max_element(windows.begin(), windows.end());
  return {largest, (largest - Median(windows)) / largest, static_cast<int>(N)};
}

}  // namespace

#if defined(__x86_64__)

std::uint64_t ReadTsc() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return static_cast<std::uint64_t>(high) << 32 | low;
}

std::uint64_t RunXorChain(std::uint64_t start, std::uint64_t mask, std::int64_t iterations) {
  if (iterations <= 0) return start;
  asm volatile(
      "1:\n\t"
      ".rept %c[length]\n\t"
      "xor %[mask], %[value]\n\t"
      ".endr\n\t"
      "sub $1, %[n]\n\t"
      "jnz 1b"
      : [value] "+r"(start), [n] "+r"(iterations)
      : [mask] "r"(mask), [length] "i"(kChainLength)
      : "cc");
  return start;
}

Frequency CoreClock() {
  constexpr double kWindowSeconds = 25e-6;
  // 25 us at 4 GHz, and long enough below 6 GHz. The number only sets the window's length.
  constexpr std::int64_t kIterations = kWindowSeconds * 4e9 / kChainLength;
  const double ticks_per_second = TscFrequency().hz;
  std::array<double, 8> windows{};
  std::uint64_t value = 3;
  for (double& window : windows) {
    const std::uint64_t before = ReadTsc();
    value = RunXorChain(value, 5, kIterations);
    const std::uint64_t after = ReadTsc();
    const double cycles = static_cast<double>(kIterations) * kChainLength;
    window = cycles * ticks_per_second / static_cast<double>(after - before);
  }
  return Largest(windows);
}

#else

#if defined(__aarch64__)
std::uint64_t ReadTsc() {
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#else
std::uint64_t ReadTsc() { return static_cast<std::uint64_t>(RawNanoseconds()); }
#endif

std::uint64_t RunXorChain(std::uint64_t start, std::uint64_t mask, std::int64_t iterations) {
  for (std::int64_t i = 0; i < iterations * kChainLength; ++i) start ^= mask;
  return start;
}

Frequency CoreClock() { return {}; }

#endif

std::optional<double> ReadCoreHertz() {
  const Frequency clock = CoreClock();
  return clock.hz > 0 ? std::optional(clock.hz) : std::nullopt;
}

Frequency CalibrateTsc(double window_seconds) {
  const auto length = static_cast<std::int64_t>(window_seconds * 1e9);
  std::array<double, 3> windows{};
  Moment begin = Now();
  for (double& window : windows) {
    Moment end = Now();
    while (end.nanoseconds - begin.nanoseconds < length) end = Now();
    window = static_cast<double>(end.ticks - begin.ticks) * 1e9 /
             static_cast<double>(end.nanoseconds - begin.nanoseconds);
    begin = end;
  }
  Frequency frequency = Largest(windows);
  frequency.hz = Median(windows);
  return frequency;
}

std::string TscDistrust(const std::filesystem::path& sysfs) {
  const std::filesystem::path folder = sysfs / "devices/system/clocksource/clocksource0";
  std::ifstream available(folder / "available_clocksource");
  std::vector<std::string> offered;
  for (std::string name; available >> name;) offered.push_back(name);
  if (offered.empty() || std::find(offered.begin(), offered.end(), "tsc") != offered.end()) {
    return "";
  }
  std::string current = "unknown";
  std::ifstream(folder / "current_clocksource") >> current;
  return fmt::format(
      "the kernel does not offer the time stamp counter as a clock source, because it is unstable "
      "(the kernel uses {}; see dmesg)",
      current);
}

const Frequency& TscFrequency() {
  static const Frequency frequency = CalibrateTsc();
  return frequency;
}

}  // namespace topdnn
