// The perf_event layer with scripted system calls: each failure, and that nothing stays open.

#include "harness/counters/perf_group.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "harness/counters/open_error.h"

namespace topdnn {
namespace {

// A kernel that refuses the event `refused` with `error`, and otherwise returns file descriptors
// from 10.
struct Script {
  int refused = -1;
  int error = 0;
  int control_error = 0;
  ssize_t read_error = 0;
  std::vector<std::vector<std::uint64_t>> reads = {};  // results, in order
  std::size_t next_read = 0;
  int opened = 0;
  std::set<int> alive = {};

  PerfSyscalls Calls() {
    return {.open =
                [this](const perf_event_attr&, pid_t, int, int group) {
                  if (opened == refused) return -error;
                  EXPECT_EQ(group, opened == 0 ? -1 : 10);
                  alive.insert(10 + opened);
                  return 10 + opened++;
                },
            .read = [this](int, void* buffer, std::size_t bytes) -> ssize_t {
              if (read_error != 0) return read_error;
              const auto& answer = reads.at(next_read++);
              const std::size_t size = std::min(bytes, answer.size() * sizeof answer[0]);
              std::copy_n(answer.begin(), size / sizeof answer[0],
                          static_cast<std::uint64_t*>(buffer));
              return static_cast<ssize_t>(size);
            },
            .control = [this](int, unsigned long, unsigned long) { return -control_error; },
            .close = [this](int fd) { EXPECT_EQ(alive.erase(fd), 1u); }};
  }
};

const std::vector<ResolvedEvent> kThree = {
    {"a", 4, 1, "raw"}, {"b", 4, 2, "raw"}, {"c", 4, 3, "raw"}};

TEST(PerfEvent, ARefusalGivesItsMemberAndLeavesNothingOpen) {
  for (const int error : {EPERM, EACCES, ENOENT, ECHILD, EINVAL, EMFILE}) {
    for (const int member : {0, 1, 2}) {
      Script script{.refused = member, .error = error};
      PerfGroup group(script.Calls());
      const OpenOutcome outcome = group.Open(kThree);
      EXPECT_EQ(outcome.error, error);
      EXPECT_EQ(outcome.member, static_cast<std::size_t>(member));
      EXPECT_TRUE(script.alive.empty());
    }
  }
}

TEST(PerfEvent, ARefusedStartLeavesNothingOpen) {
  Script script{.control_error = EBUSY};
  PerfGroup group(script.Calls());
  EXPECT_EQ(group.Open(kThree).error, EBUSY);
  EXPECT_TRUE(script.alive.empty());
}

TEST(PerfEvent, DestructionClosesAll) {
  Script script;
  {
    PerfGroup group(script.Calls());
    EXPECT_EQ(group.Open(kThree).error, 0);
    EXPECT_EQ(script.alive.size(), 3u);
  }
  EXPECT_TRUE(script.alive.empty());
}

TEST(PerfEvent, ReadsAGroupAtOnce) {
  Script script{.reads = {{3, 100, 50, 7, 8, 9}}};
  PerfGroup group(script.Calls());
  group.Open(kThree);
  const auto readings = group.Read();
  ASSERT_EQ(readings.size(), 3u);
  EXPECT_EQ(readings[2].value, 9u);
  EXPECT_EQ(readings[2].enabled, 100u);
  EXPECT_EQ(readings[2].running, 50u);
}

TEST(PerfEvent, FailedAndShortReadsGiveNoReading) {
  for (Script script : {Script{.read_error = -EIO}, Script{.reads = {{3, 100, 50, 7}}},
                        Script{.reads = {{2, 100, 50, 7, 8, 9}}}}) {
    PerfGroup group(script.Calls());
    group.Open(kThree);
    EXPECT_TRUE(group.Read().empty());
  }
}

TEST(PerfEvent, ATrialDistinguishesStarvedSharedAndSilentCounters) {
  struct Case {
    std::vector<std::uint64_t> after;
    TrialVerdict verdict;
    double second;  // the second event's count; -1: absent
  };
  for (const Case& c : {Case{{3, 100, 100, 7, 8, 9}, TrialVerdict::kCounts, 8},
                        Case{{3, 100, 100, 7, 0, 9}, TrialVerdict::kCounts, 0},
                        Case{{3, 100, 50, 7, 8, 9}, TrialVerdict::kMultiplexed, 8},
                        Case{{3, 100, 0, 0, 0, 0}, TrialVerdict::kNeverRuns, -1}}) {
    Script script{.reads = {{3, 0, 0, 0, 0, 0}, c.after}};
    bool worked = false;
    const Trial trial = TryGroup(script.Calls(), kThree, [&] { worked = true; });
    EXPECT_TRUE(worked);
    EXPECT_EQ(trial.verdict, c.verdict);
    ASSERT_EQ(trial.counts.size(), 3u);
    EXPECT_EQ(trial.counts[1].value.value_or(-1), c.second);
  }
  Script script{.refused = 2, .error = EINVAL};
  const Trial trial = TryGroup(script.Calls(), kThree, [] {});
  EXPECT_EQ(trial.verdict, TrialVerdict::kRefused);
  EXPECT_EQ(trial.outcome.member, 2u);
  EXPECT_TRUE(trial.counts.empty());
}

TEST(PerfEvent, AScopeSetsThreadCpuAndModes) {
  struct Case {
    PerfScope scope;
    pid_t thread;
    int cpu;
    bool without_kernel, without_hypervisor;
  };
  for (const Case& c : {Case{{}, 0, -1, true, true}, Case{PerfScope::Thread(7), 7, -1, true, true},
                        Case{PerfScope::Thread(7, PerfModes::kUserAndKernel), 7, -1, false, true},
                        Case{PerfScope::Cpu(3), -1, 3, false, false}}) {
    Script script;
    PerfSyscalls calls = script.Calls();
    int seen = 0;
    calls.open = [&](const perf_event_attr& attr, pid_t thread, int cpu, int) {
      EXPECT_EQ(thread, c.thread);
      EXPECT_EQ(cpu, c.cpu);
      EXPECT_EQ(attr.exclude_kernel, c.without_kernel ? 1u : 0u);
      EXPECT_EQ(attr.exclude_hv, c.without_hypervisor ? 1u : 0u);
      EXPECT_EQ(attr.disabled, seen == 0 ? 1u : 0u);  // the members start with their leader
      EXPECT_EQ(attr.config, static_cast<std::uint64_t>(seen + 1));
      script.alive.insert(10 + seen);
      return 10 + seen++;
    };
    PerfGroup group(calls);
    EXPECT_EQ(group.Open(kThree, c.scope).error, 0);
    EXPECT_EQ(group.size(), 3u);
  }
}

// Before Linux 5.13 the bit inherit_thread is reserved.
TEST(PerfEvent, AnOldKernelIsToldFromAWrongEvent) {
  int open = 0;
  bool knows_event = true;
  const PerfSyscalls old = {.open =
                                [&](const perf_event_attr& attr, pid_t, int, int) {
                                  if (attr.inherit_thread != 0 || !knows_event) return -EINVAL;
                                  ++open;
                                  return 10;
                                },
                            .read = {},
                            .control = {},
                            .close = [&](int) { --open; }};
  perf_event_attr attr{};
  EXPECT_FALSE(RefusesInheritThread(old, attr, 0));
  attr.inherit_thread = 1;
  EXPECT_TRUE(RefusesInheritThread(old, attr, 0));
  EXPECT_EQ(open, 0);
  knows_event = false;
  EXPECT_FALSE(RefusesInheritThread(old, attr, 0));
}

// Many systems allow 1024 files at first: with 10 events on 128 threads that is too few.
TEST(PerfEvent, MoreFilesAreUsedIfTheHardLimitAllowsThem) {
  const PerfSyscalls calls = PerfSyscalls::Real();
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.disabled = attr.exclude_kernel = attr.exclude_hv = 1;
  const int first = calls.open(attr, 0, -1, -1);
  if (first < 0) GTEST_SKIP() << "perf counts nothing here";
  std::vector<int> files = {first};
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(first) + 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int i = 0; i < 8; ++i) files.push_back(calls.open(attr, 0, -1, -1));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const int fd : files) {
    EXPECT_GE(fd, 0) << strerrorname_np(-fd);
    if (fd >= 0) calls.close(fd);
  }
}

TEST(PerfEvent, RawCodesAndAbsentNames) {
  EXPECT_EQ(ResolveEvent("NO_SUCH_EVENT", 0x10E, "/nonexistent")->by, "raw");
  EXPECT_FALSE(ResolveEvent("NO_SUCH_EVENT", std::nullopt, "/nonexistent").has_value());
  // Events count user mode: a count of another mode would be wrong under this name.
  EXPECT_TRUE(ResolveEvent("PERF_COUNT_HW_CPU_CYCLES", std::nullopt, "/nonexistent").has_value());
  for (const char* other : {"PERF_COUNT_HW_CPU_CYCLES:k", "PERF_COUNT_HW_CPU_CYCLES:u:k"}) {
    EXPECT_FALSE(ResolveEvent(other, std::nullopt, "/nonexistent").has_value()) << other;
  }
}

}  // namespace
}  // namespace topdnn
