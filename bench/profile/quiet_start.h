// What the user should know about the machine before a measurement begins: whether other programs
// use its CPUs, and which; and the wait until they do not.

#ifndef TOPDNN_BENCH_PROFILE_QUIET_START_H_
#define TOPDNN_BENCH_PROFILE_QUIET_START_H_

#include <functional>
#include <optional>
#include <string>

#include "harness/machine/busy.h"

namespace topdnn {

// "the machine is busy: other programs use 1.9 of 2 CPUs (python3 1.9): ..."; with what it costs.
// Empty if it is not busy.
std::string BusyLine(const std::optional<Busy>& busy, double seconds);

struct QuietWait {
  double most_seconds = 0;
  std::function<std::optional<Busy>()> watch;             // waits for some time, then reads
  std::function<bool()> cancelled;                        // polled between readings
  std::function<void(const std::string& line)> announce;  // who is busy, and how it ended
  std::function<double()> now;                            // seconds
};

// Waits until the machine is quiet in two readings in a row (IsBusy), or the time is over. Says who
// is busy at the beginning, and whenever the busiest program is another one. Returns whether it is
// quiet.
bool WaitUntilQuiet(const QuietWait& wait);

// On this machine, with readings a second apart, and lines on standard error.
bool WaitUntilQuiet(double most_seconds);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_QUIET_START_H_
