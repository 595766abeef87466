// Whether a measured ceiling is valid: judged by its own windows, by the rate of fewer threads, and
// by a second measurement. All functions are pure.

#ifndef TOPDNN_HARNESS_PROBES_CEILING_VERDICT_H_
#define TOPDNN_HARNESS_PROBES_CEILING_VERDICT_H_

#include <string>
#include <vector>

#include "harness/probes/ceilings.h"

namespace topdnn {

// The number of windows that a valid ceiling needs. On a very busy machine there may be time for
// fewer.
inline constexpr int kMinWindows = 5;

// The largest relative difference between the value of an OK ceiling and its median window. On a
// quiet machine it is 1 to 3 % for resources of one core, and up to 15 % for memory and the
// last-level cache, which other guests use even on a quiet virtual machine.
inline constexpr double kMaxSpread = 0.05;
inline constexpr double kMaxSharedSpread = 0.20;
// Above this spread, at least half of the windows ran at less than two thirds of the value, so it
// is unknown whether any was undisturbed: INVALID.
inline constexpr double kInvalidSpread = 1.0 / 3;

// If the threads had a CPU for less than this share of the time even in the best windows, other
// programs ran on their CPUs, and the rate is not a ceiling.
inline constexpr double kMinOnCpu = 0.95;

// All threads together should reach at least the rate of fewer threads. A rate down to 10 % lower
// may be noise (hyperthreads of one core, a saturated memory): DEGRADED. A still lower one is not a
// ceiling: INVALID.
inline constexpr double kMinOfFewer = 0.90;
// Smallest ratio of a rate to (cores x the rate of one thread), for resources of one core. All-core
// clocks under vector code go down to 0.65 of a single core's clock, and efficient cores reach half
// the rate of fast ones (0.75 for a mixture).
inline constexpr double kMinOfCores = 0.60;

// Leaves out the windows in which the threads had no CPU for themselves (below kMinOnCpu), if at
// least kMinWindows others remain. `on_cpu` is of the same windows; nothing is known if it is
// empty.
void KeepUndisturbedWindows(std::vector<double>& windows, std::vector<double>& on_cpu);

// Sets value, median and spread from the rates (for a latency: times) of the undisturbed windows,
// and the share of time with a CPU from `on_cpu` (empty: absent). `windows` must not be empty, and
// the ceiling's unit must be set.
void SummarizeWindows(std::vector<double> windows, std::vector<double> on_cpu, Ceiling& ceiling);

// For a latency, lower is better; for all others, higher.
bool IsLatency(const Ceiling& ceiling);
// Whether other cores or other guests of the host use the same resource.
bool IsShared(const Ceiling& ceiling);
// The ratio of the rates of `a` and `b`: above 1 if `a` is better. Both have values.
double RatioOfRates(const Ceiling& a, const Ceiling& b);

// Judges by the time that the threads had a CPU, by the spread, by the number of windows, and by
// the rate of one thread alone. A ceiling without a value keeps its verdict. `cores`: physical
// cores that the threads may use; 0: not known.
Verdict JudgeCeiling(const Ceiling& ceiling, int cores);

// Chooses between two batches of windows: the undisturbed one, if only one is; else the one with
// the better verdict, then the better rate. If the rate of the rejected batch is better by more
// than the allowed spread, the chosen one is at best DEGRADED. A batch without a value is never
// chosen over one with a value.
Ceiling KeepBetter(const Ceiling& first, const Ceiling& again);

// Combines measurements before and after a run: the undisturbed one, if only one is; else the
// better rate with the better verdict. If they
// differ by more than the allowed spread: at best DEGRADED.
Ceiling Reconcile(const Ceiling& before, const Ceiling& after);

// Worsens the verdict of each rate below that of the ceiling of the same name with fewer threads
// (see kMinOfFewer). Latencies are not compared.
void JudgeWidths(std::vector<Ceiling>& ceilings);

// "253.1 GFLOP/s", "3.1 ns", "n/a".
std::string ValueText(const Ceiling& ceiling);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_CEILING_VERDICT_H_
