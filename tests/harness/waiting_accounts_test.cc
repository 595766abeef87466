// Where the scheduler's accounts are read, and what they say about threads that share a CPU.

#include "harness/measure/waiting_accounts.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "harness/measure/loss_watch.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using Ends = std::vector<std::size_t>;

// By hand: a reading of 4 us may follow 0.4 ms or more.
TEST(PartsTest, EachPartIsLongEnoughForAReading) {
  constexpr double kLeast = 0.4e-3;
  const std::vector<double> stages = {1e-3, 0.1e-3, 0.2e-3, 0.1e-3, 2e-3, 0.1e-3};
  // 1 | 0.1 + 0.2 + 0.1 | 2 and the rest, which is too short
  EXPECT_EQ(PartsOf(stages, kLeast), (Ends{1, 4, 6}));
  EXPECT_EQ(PartsOf(std::vector<double>{2e-3, 2e-3}, kLeast), (Ends{1, 2}));
  EXPECT_EQ(PartsOf(std::vector<double>{2e-3, 2e-3}, 10e-3), (Ends{2}));
  EXPECT_EQ(PartsOf(std::vector<double>{5e-3}, kLeast), (Ends{1}));
  // Shorter than a scheduler's slice.
  EXPECT_EQ(PartsOf(std::vector<double>{1e-3, 1e-3}, kLeast), (Ends{2}));
}

void WriteAccount(const std::filesystem::path& tasks, const std::string& thread,
                  const std::string& text) {
  std::filesystem::create_directories(tasks / thread);
  std::ofstream(tasks / thread / "schedstat") << text << "\n";
}

TEST(SchedulerWatchTest, SumsTheThreadsAndKeepsWhatEnded) {
  const TestFolder folder;
  WriteAccount(folder.path(), "11", "1000 7000 3");
  WriteAccount(folder.path(), "12", "2000 50 1");
  SchedulerWatch watch(folder.path());
  ASSERT_TRUE(watch.works());
  EXPECT_EQ(watch.Waited(), 7050u);
  WriteAccount(folder.path(), "11", "1500 7100 4");
  EXPECT_EQ(watch.Waited(), 7150u);
  WriteAccount(folder.path(), "12", "");  // the thread ended
  EXPECT_EQ(watch.Waited(), 7150u);
}

TEST(SchedulerWatchTest, AKernelWithoutAccountsHasNone) {
  const TestFolder folder;
  WriteAccount(folder.path(), "11", "0 0 0");
  EXPECT_FALSE(SchedulerWatch(folder.path()).works());
  EXPECT_FALSE(SchedulerWatch(folder.path() / "none").works());
}

// As with a full table of descriptors: the waiting of some threads would be missing.
TEST(SchedulerWatchTest, AnAccountThatCannotBeReadLeavesNone) {
  const TestFolder folder;
  WriteAccount(folder.path(), "11", "1000 7000 3");
  std::filesystem::create_directories(folder.path() / "12");
  std::filesystem::create_symlink("schedstat", folder.path() / "12" / "schedstat");
  EXPECT_FALSE(SchedulerWatch(folder.path()).works());
}

// Two threads on one CPU: each waits while the other runs.
TEST(SchedulerWatchTest, SeesAThreadThatSharesItsCpu) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> stop = false;
  std::thread neighbour([&stop] {
    while (!stop) {
    }
  });
  SchedulerWatch watch;
  std::uint64_t waited = 0;
  if (watch.works()) {
    const std::uint64_t before = watch.Waited();
    const auto begin = std::chrono::steady_clock::now();
    // Until the neighbour, which shares the CPU, has taken 20 ms.
    while (waited < 20'000'000 &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
      waited = watch.Waited() - before;
    }
  }
  stop = true;
  neighbour.join();
  ASSERT_EQ(sched_setaffinity(0, sizeof allowed, &allowed), 0);
  if (!watch.works()) GTEST_SKIP() << "the kernel keeps no accounts of waiting";
  EXPECT_GE(waited, 20'000'000u);
}

// A thread that shares the CPU of this one takes about half of it, which the watch sees.
TEST(LossWatchTest, SeesWhatAnotherThreadTakes) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  std::atomic<bool> done = false;
  double lost = 0;
  std::thread([&] {
    sched_setaffinity(0, sizeof one, &one);
    std::thread other([&] {
      while (!done) {
      }
    });
    LossWatch watch;
    const auto seconds = [] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
    };
    watch.Begin();
    const double begin = seconds();
    while (seconds() - begin < 0.1) {
    }
    lost = watch.End(seconds() - begin);
    done = true;
    other.join();
  }).join();
  if (!SchedulerWatch().works()) GTEST_SKIP() << "the kernel keeps no accounts of waiting";
  EXPECT_GT(lost, 0.1);
}

}  // namespace
}  // namespace topdnn
