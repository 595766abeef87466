// Whether a measured ceiling holds: judged by its own windows, by what fewer threads reach, and by
// a second measurement. Everything here is pure.

#ifndef TOPDNN_HARNESS_PROBES_CEILING_VERDICT_H_
#define TOPDNN_HARNESS_PROBES_CEILING_VERDICT_H_

#include <string>
#include <vector>

#include "harness/probes/ceilings.h"

namespace topdnn {

// Windows that a ceiling rests on. A machine that is too busy to give them in a bounded time gives
// fewer.
inline constexpr int kLeastWindows = 5;

// The share of its value that a ceiling's median window may lack. On a quiet machine it is 1 to 3 %
// for what a core has to itself, and up to 15 % for memory and the last-level cache, which even a
// quiet virtual machine shares.
inline constexpr double kMostSpread = 0.05;
inline constexpr double kMostSharedSpread = 0.20;
// Most windows ran at less than two thirds of the value: whether any was undisturbed is not known.
inline constexpr double kInvalidSpread = 1.0 / 3;

// Threads that had a CPU for less of even their best windows did not work together: other programs
// ran on their CPUs, and what they reached is no ceiling.
inline constexpr double kLeastOnCpu = 0.95;

// Threads in all reach at least what one of them reaches. Less is a disturbance: within a tenth it
// may be noise (hyperthreads of one core, a saturated memory), beyond it the value is no ceiling.
inline constexpr double kLeastOfFewer = 0.90;
// Of cores times one thread's rate, for what each core has to itself. All-core clocks under vector
// code go down to 0.65 of one core's, and efficient cores reach half of a fast one's (0.75 of a
// mixture).
inline constexpr double kLeastOfCores = 0.60;

// Value, median and spread of windows' rates, or of times for a latency; and of the share of each
// window in which the threads had a CPU. `windows` is not empty.
void SummarizeWindows(std::vector<double> windows, std::vector<double> on_cpu, Ceiling& ceiling);

// Better is higher, except for a latency.
bool IsLatency(const Ceiling& ceiling);
// Another core, or another guest of the host, works with the same resource.
bool IsShared(const Ceiling& ceiling);
// How much better `a` is than `b`, as the ratio of their rates. Both have values.
double RatioOfRates(const Ceiling& a, const Ceiling& b);

// By the time that its threads had a CPU, by its spread, and by what one of its threads reached
// alone. `cores`: physical cores that the threads may use, 0 if not known.
Verdict JudgeCeiling(const Ceiling& ceiling, int cores);

// Of two batches of windows taken in one go: the one with the better verdict, or the higher value.
// A batch that was rejected, but reached more than the better one, leaves a mark.
Ceiling KeepBetter(const Ceiling& first, const Ceiling& again);

// Of two measurements, before a run and after it: the higher value when they agree, with the better
// verdict of the two; when they differ by more than the spread allowed, DEGRADED.
Ceiling Reconcile(const Ceiling& before, const Ceiling& after);

// Marks each rate below that of the same ceiling on fewer threads, unless it has the mark already.
void JudgeWidths(std::vector<Ceiling>& ceilings);

// "253.1 GFLOP/s", "3.1 ns", "n/a".
std::string ValueText(const Ceiling& ceiling);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_CEILING_VERDICT_H_
