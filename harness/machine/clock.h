// Time without a PMU: the time-stamp counter calibrated against the kernel's raw clock, and the
// core's true frequency found by timing a chain of instructions of known latency. The core clock
// changes within minutes on a shared machine; a measurement reads it before and after.

#ifndef TOPDNN_HARNESS_MACHINE_CLOCK_H_
#define TOPDNN_HARNESS_MACHINE_CLOCK_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace topdnn {

// A frequency and the spread of its windows.
struct Frequency {
  double hz = 0;
  double spread = 0;  // (largest - median) / largest over the windows
  int windows = 0;
};

// The time-stamp counter (x86: TSC; Arm: the generic timer's virtual count). Not serialising: a
// reading may be reordered by some tens of cycles relative to the instructions around it.
std::uint64_t ReadTsc();

// Measures the counter against CLOCK_MONOTONIC_RAW in 3 windows of `window_seconds`; median.
Frequency CalibrateTsc(double window_seconds = 0.01);

// Why the kernel does not trust the time stamp counter; empty if it does, or if `sysfs` has no
// information. If the kernel finds the counter unstable (the rate differs between CPUs, or the
// counter stops), it removes it from devices/system/clocksource/clocksource0/available_clocksource.
std::string TscDistrust(const std::filesystem::path& sysfs = "/sys");

// Ticks per second, calibrated once per process (about 30 ms on the first call).
const Frequency& TscFrequency();

// The frequency of the core under this thread: the highest of 8 windows of 25 us, since a
// disturbance can only make a window longer. hz is 0 on an architecture without a known chain.
Frequency CoreClock();

// CoreClock in Hz; absent on an architecture without a known chain.
std::optional<double> ReadCoreHertz();

// Cycles of an iteration of the chain: so many `xor` of two registers, each waiting for the one
// before it. They take one cycle on every x86-64 core (Agner Fog, instruction tables; uops.info),
// also on Intel's efficiency cores. A 64-bit `imul` takes 3 cycles on most cores, but 5 on
// Gracemont. An `add` of a constant or an `inc` is not usable: the renamers of Golden Cove and
// later fold it. The length is odd, so that the result shows whether the chain ran.
inline constexpr int kChainLength = 127;

// Runs the chain and returns start, xored with `mask` kChainLength * iterations times.
std::uint64_t RunXorChain(std::uint64_t start, std::uint64_t mask, std::int64_t iterations);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_CLOCK_H_
