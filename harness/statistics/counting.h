// The arithmetic of counts: differences of two readings, sums over threads, the cost of a reading,
// means over iterations, scaling. Pure functions in one file, because such arithmetic can be
// silently wrong.
//
// Three rules hold throughout:
// - A count that was not taken is absent, never zero.
// - A count with a running fraction f was counted during the share f of the time. It is not scaled
//   until an estimate is requested.
// - Scaling is done once, at the end: the sum of the counts over the sum of the fractions.

#ifndef TOPDNN_HARNESS_STATISTICS_COUNTING_H_
#define TOPDNN_HARNESS_STATISTICS_COUNTING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace topdnn {

// One event's count over a region.
struct EventCount {
  std::optional<double> value;  // absent: not counted
  // Share of the region during which the event was on a counter: 1 = exact, below 1 = the count is
  // of that share only (it is not scaled here), 0 = it never ran.
  double running_fraction = 1.0;
  std::string reason{};  // why the value is absent, or how it was taken, if known
};

// The counts of one thread, from a source that counts each thread separately.
struct ThreadCounts {
  int thread = 0;                  // 0: the reading thread; then the others by thread id
  std::vector<EventCount> counts;  // one per event
};

// One reading of an event by perf_event: the count, and how long the event was enabled and on a
// counter, in ns. All three are cumulative.
struct CounterReading {
  std::uint64_t value = 0;
  std::uint64_t enabled = 0;
  std::uint64_t running = 0;
};

// Below this running fraction a count, scaled or not, is flagged.
inline constexpr double kTrustedRunningFraction = 0.9;

// Absent, with running fraction 0.
EventCount AbsentCount();

// ---- Between two readings.

// A counter of 48 bits as RDPMC returns it in two registers, sign-extended to 64 bits. The kernel
// starts a counter below zero and keeps an offset (linux/perf_event.h, perf_event_mmap_page):
// offset plus this value is a count of 64 bits that stays correct when the 48 bits wrap.
constexpr std::uint64_t SignedCounter(std::uint64_t low, std::uint64_t high) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int16_t>(high)))
             << 32 |
         low;
}

// The count between two readings with its running fraction. Absent when the value or a time went
// backwards (a reset), when the event ran for longer than it was enabled, and when it never ran.
// Counts of 64 bits do not wrap in practice (a century of cycles), so backwards means a reset.
EventCount CountBetween(const CounterReading& before, const CounterReading& after);

// One count per slot of counters that never share a hardware counter. A counter that went backwards
// gives an absent count. Throws std::invalid_argument when the readings differ in length.
std::vector<EventCount> FoldCounts(std::span<const std::uint64_t> before,
                                   std::span<const std::uint64_t> after);

// ---- Over threads.

// One event over several threads: the sum of the counts, and the share of the threads' time during
// which the event was on a counter. A thread that did not run adds nothing. A thread whose counter
// never ran, or went backwards, makes the count absent. Absent when no thread ran.
EventCount SumOverThreads(std::span<const CounterReading> before,
                          std::span<const CounterReading> after);

// The same for an event that counts only on cores of another type. A thread whose counter never ran
// was not on these cores and adds only time, so the running fraction is the share of the threads'
// time on these cores. Absent when no thread was there, and, with a reason, when a thread's counter
// went backwards.
EventCount SumOverThreadsThatRan(std::span<const CounterReading> before,
                                 std::span<const CounterReading> after);

// ---- The cost of a reading.

// What a reading itself adds to each event's count: the median over pairs of readings with nothing
// between them, each scaled by its fraction. 0 for an event that no pair counted. `pairs`: the
// counts of each pair, one per event.
std::vector<double> CostOfReading(std::span<const std::vector<EventCount>> pairs);

// The count minus the cost of `readings` readings. A count with running fraction f includes the
// share f of the cost. At least 0.
EventCount WithoutReadings(const EventCount& count, double cost, double readings);

// ---- Over iterations.

// The mean count per iteration: the sum of the counts over the number of iterations. Its running
// fraction is the sum of the fractions over the number of iterations. An iteration in which the
// event was never on a counter is included with count 0 and fraction 0, like the uncounted part of
// any other iteration. So the mean, like every count, is of the share running_fraction of the time,
// and Scaled(mean) is the sum of the counts over the sum of the fractions. Absent when no iteration
// was counted.
EventCount MeanCount(std::span<const EventCount> per_iteration);

// The same for series that are not kept: AddCount adds to a sum that begins as AbsentCount(), and
// MeanOfSum divides it.
void AddCount(const EventCount& more, EventCount& sum);
EventCount MeanOfSum(const EventCount& sum, std::int64_t iterations);

// count / running fraction: an estimate of the count that the event would have on a dedicated
// counter, if it occurs uniformly over time. Absent stays absent.
std::optional<double> Scaled(const EventCount& count);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_COUNTING_H_
