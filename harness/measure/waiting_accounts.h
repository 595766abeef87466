// Reads the scheduler's accounts and the pace of the cores around the samples of a measurement, as
// finely as their cost allows: per stage in long iterations, per iteration, or per group of short
// iterations.

#ifndef TOPDNN_HARNESS_MEASURE_WAITING_ACCOUNTS_H_
#define TOPDNN_HARNESS_MEASURE_WAITING_ACCOUNTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/measure/measure.h"
#include "harness/measure/scheduler_watch.h"

namespace topdnn {

// Divides an iteration into parts of consecutive stages, between which the accounts are read: one
// past the last stage of each part. Each part takes at least `least_seconds`. There is one part if
// the iteration takes less than kSliceSeconds: a program that interrupts it hardly leaves a rest.
// Pure.
std::vector<std::size_t> PartsOf(std::span<const double> stage_seconds, double least_seconds);

class WaitingAccounts {
 public:
  // Reads options.waiting, or else the accounts of all threads that the process has now.
  WaitingAccounts(const MeasureOptions& options, const TickClock& clock);

  // Divides the iterations, and prepares for this many of them.
  void Prepare(std::span<const double> stage_seconds, std::int64_t iterations);

  // One past the last stage of each part.
  const std::vector<std::size_t>& parts() const { return parts_; }

  // To call before an iteration, after each of its parts, and after the last iteration. They do not
  // allocate.
  void BeginIteration() noexcept;
  void EndPart() noexcept;
  void End() noexcept;

  // Whether enough samples of each part are free of waiting so far. (The pace does not count:
  // another machine may stay for long, and what trains for longer meets denormal numbers.)
  bool AreEnough(std::int64_t iterations) const;

  // The waiting as a share of the time, by iteration and part, from the times of the same. Samples
  // of one reading have one share. Empty if the waiting is not known.
  std::vector<double> SharesOf(std::span<const double> seconds) const;
  // The slower pace at the two ends, in the same order. Empty if the pace is not known.
  std::vector<double> Paces() const;

 private:
  bool Reads() const noexcept { return reader_ || pace_; }
  double CostSeconds() const noexcept;
  double ReadPace() noexcept;
  double Elapsed() const noexcept;
  void Close() noexcept;

  const TickClock& clock_;
  std::unique_ptr<SchedulerWatch> watch_;
  std::optional<WaitingReader> reader_;
  std::optional<PaceReader> pace_;
  std::vector<std::size_t> parts_;
  std::vector<std::uint32_t> reading_of_;  // by iteration and part
  std::vector<double> waited_;             // by reading, in seconds
  std::vector<double> paces_;              // by reading
  std::vector<std::int64_t> quiet_parts_;  // by part: samples without waiting
  bool open_ = false;                      // a reading was taken for the next samples
  std::uint64_t before_ = 0;               // its value
  std::uint64_t opened_at_ = 0;            // its time
  double pace_before_ = 0;
  std::int64_t samples_ = 0;  // since then
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_WAITING_ACCOUNTS_H_
