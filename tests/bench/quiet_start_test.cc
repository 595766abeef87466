// The line about a busy machine, and the wait for a quiet one.

#include "bench/profile/quiet_start.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace topdnn {
namespace {

Busy With(double used, const std::string& name) {
  return {.cpus = 2, .used = used, .processes = {{name, used, 1}}};
}

TEST(QuietStartTest, ABusyMachineIsSaidWithWhoAndWhatItCosts) {
  EXPECT_EQ(BusyLine(With(1.9, "load\n"), 5),
            "the machine is busy: other programs use 1.9 of 2 CPUs (load\\n 1.9): the steps may be "
            "timed for 20 s instead of 5 s, rows without enough undisturbed samples are DEGRADED, "
            "and the rest takes longer; --wait-quiet 5m waits");
  EXPECT_EQ(BusyLine(With(0.1, "load"), 5), "");
  EXPECT_EQ(BusyLine(std::nullopt, 5), "");
}

struct Waited {
  bool quiet = false;
  std::vector<std::string> lines;
  double seconds = 0;
};

// Each reading takes a second.
Waited WaitFor(const std::vector<std::optional<Busy>>& readings, double most_seconds) {
  Waited waited;
  std::size_t next = 0;
  waited.quiet =
      WaitUntilQuiet({.most_seconds = most_seconds,
                      .watch =
                          [&] {
                            waited.seconds += 1;
                            return readings.at(next++);
                          },
                      .cancelled = [] { return false; },
                      .announce = [&](const std::string& line) { waited.lines.push_back(line); },
                      .now = [&] { return waited.seconds; }});
  return waited;
}

TEST(QuietStartTest, TwoQuietReadingsInARowEndTheWait) {
  const Waited waited = WaitFor(
      {With(2, "a"), With(2, "a"), With(0, "a"), With(1, "b"), With(0, "b"), With(0.05, "b")}, 100);
  EXPECT_TRUE(waited.quiet);
  EXPECT_EQ(waited.lines,
            (std::vector<std::string>{
                "waiting for a quiet machine: other programs use 2.0 of 2 CPUs (a 2.0)",
                "waiting for a quiet machine: other programs use 1.0 of 2 CPUs (b 1.0)",
                "the machine is quiet"}));
}

TEST(QuietStartTest, AQuietMachineIsNotWaitedFor) {
  const Waited waited = WaitFor({With(0, "a"), With(0, "a")}, 100);
  EXPECT_TRUE(waited.quiet);
  EXPECT_TRUE(waited.lines.empty());
  EXPECT_TRUE(WaitFor({std::nullopt}, 100).quiet);  // the accounts cannot be read
}

TEST(QuietStartTest, TheWaitEndsWhenItsTimeIsOver) {
  const std::vector<std::optional<Busy>> busy(10, With(2, "a"));
  const Waited waited = WaitFor(busy, 3);
  EXPECT_FALSE(waited.quiet);
  EXPECT_EQ(waited.seconds, 3);
  ASSERT_EQ(waited.lines.size(), 2u);
  EXPECT_EQ(waited.lines.back(),
            "still busy after 3 s, and measured all the same: other programs use 2.0 of 2 CPUs (a "
            "2.0)");
}

}  // namespace
}  // namespace topdnn
