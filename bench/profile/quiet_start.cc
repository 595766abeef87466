#include "bench/profile/quiet_start.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "bench/command_line/interrupt.h"
#include "harness/measure/measure.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

constexpr int kQuietReadings = 2;  // in a row

std::string BusiestOf(const Busy& busy) {
  return busy.processes.empty() ? "" : busy.processes.front().name;
}

}  // namespace

std::string BusyLine(const std::optional<Busy>& busy, double seconds) {
  if (!busy || !IsBusy(*busy)) return "";
  return fmt::format(
      "the machine is busy: {}: the steps may be timed for {:g} s instead of {:g} s, rows without "
      "enough undisturbed samples are DEGRADED, and the rest takes longer; --wait-quiet 5m waits",
      OneLine(TextOf(*busy)), kPatience * seconds, seconds);
}

bool WaitUntilQuiet(const QuietWait& wait) {
  const double end = wait.now() + wait.most_seconds;
  int quiet = 0;
  std::string named;
  std::optional<Busy> busy;
  bool waited = false;
  while (!wait.cancelled()) {
    busy = wait.watch();
    if (!busy) return true;  // nothing is known
    if (!IsBusy(*busy)) {
      if (++quiet < kQuietReadings) continue;
      if (waited) wait.announce("the machine is quiet");
      return true;
    }
    quiet = 0;
    if (wait.now() >= end) break;
    if (!waited || BusiestOf(*busy) != named) {
      wait.announce(fmt::format("waiting for a quiet machine: {}", OneLine(TextOf(*busy))));
    }
    named = BusiestOf(*busy);
    waited = true;
  }
  if (busy && !wait.cancelled()) {
    wait.announce(fmt::format("still busy after {:.0f} s, and measured all the same: {}",
                              wait.most_seconds, OneLine(TextOf(*busy))));
  }
  return false;
}

bool WaitUntilQuiet(double most_seconds) {
  BusyWatch watch;
  return WaitUntilQuiet({.most_seconds = most_seconds,
                         .watch =
                             [&watch] {
                               std::this_thread::sleep_for(std::chrono::seconds(1));
                               return watch.Since();
                             },
                         .cancelled = [] { return Interrupted(); },
                         .announce =
                             [](const std::string& line) {
                               std::fputs(fmt::format("topdnn: {}\n", line).c_str(), stderr);
                             },
                         .now =
                             [] {
                               return std::chrono::duration<double>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                   .count();
                             }});
}

}  // namespace topdnn
