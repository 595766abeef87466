// Threads that take bandwidth, and the CPUs on which they and others run.

#include "harness/experiments/antagonist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "harness/experiments/experiment_error.h"
#include "harness/machine/cpu_set.h"
#include "harness/machine/thread_cpus.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kBytes = std::size_t{1} << 20;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class AntagonistTest : public testing::Test {
 protected:
  void SetUp() override {
    probe_ = WidestProbe(ProbeKind::kRead);
    if (probe_ == nullptr) GTEST_SKIP() << "this CPU has no probe that reads memory";
    cpu_ = AllowedCpus().cpus.back();
  }

  const Probe* probe_ = nullptr;
  int cpu_ = 0;
};

TEST_F(AntagonistTest, SleepsUntilItMayTakeAndAfterwards) {
  Antagonist antagonist(*probe_, std::vector<int>{cpu_}, kBytes);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(antagonist.bytes(), 0);
  EXPECT_GT(BestRateOf(antagonist, 0.02), 0);
  const double after = antagonist.bytes();
  EXPECT_GT(after, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(antagonist.bytes(), after);
}

// A busy machine can only lower the rate. The limit leaves room for the chunk of 64 KiB that is
// being read, and for 16 late chunks.
TEST_F(AntagonistTest, TakesNoMoreThanItsShare) {
  Antagonist antagonist(*probe_, std::vector<int>{cpu_}, kBytes);
  constexpr double kRate = 100e6;
  const double begin = Seconds();
  antagonist.Take(kRate);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  antagonist.Take(0);
  const double seconds = Seconds() - begin;
  EXPECT_GT(antagonist.bytes(), 0);
  EXPECT_LE(antagonist.bytes(), kRate * seconds + 17 * 65536.0);
}

TEST_F(AntagonistTest, EndsWhileItTakes) {
  Antagonist antagonist(*probe_, std::vector<int>{cpu_, cpu_}, kBytes);
  antagonist.Take(std::numeric_limits<double>::infinity());
}

TEST_F(AntagonistTest, RefusesACpuThatDoesNotExist) {
  EXPECT_THROW(Antagonist(*probe_, std::vector<int>{65535}, kBytes), ExperimentError);
}

// Three cores of two hyperthreads: CPUs 0 to 2 and their siblings 3 to 5.
TEST(DivideCpusTest, OthersGetCoresOfTheirOwn) {
  const std::vector<std::vector<int>> cores = {{0, 3}, {1, 4}, {2, 5}};
  CpuDivision division = DivideCpus(cores, 1);
  EXPECT_THAT(division.measured, ElementsAre(0));
  EXPECT_THAT(division.others, ElementsAre(1, 2));
  EXPECT_FALSE(division.share_cores);
  division = DivideCpus(cores, 3);
  EXPECT_THAT(division.measured, ElementsAre(0, 1, 2));
  EXPECT_THAT(division.others, ElementsAre(3, 4, 5));
  EXPECT_TRUE(division.share_cores);
  division = DivideCpus(cores, 5);
  EXPECT_THAT(division.measured, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(division.others, ElementsAre(5));
  EXPECT_THAT(DivideCpus(cores, 6).others, IsEmpty());
  EXPECT_THAT(DivideCpus({{7}}, 4).measured, ElementsAre(7));
}

std::vector<int> CpusOfNewThread() {
  return std::async(std::launch::async, [] { return AllowedCpus().cpus; }).get();
}

TEST(ProcessOnCpusTest, KeepsAllThreadsAndLetsThemGo) {
  const std::vector<int> all = AllowedCpus().cpus;
  if (all.size() < 2) GTEST_SKIP() << "needs two CPUs";
  std::promise<void> placed, released;
  std::promise<std::vector<int>> during, after;
  std::thread old([&] {
    placed.get_future().wait();
    during.set_value(AllowedCpus().cpus);
    released.get_future().wait();
    after.set_value(AllowedCpus().cpus);
  });
  {
    const ProcessOnCpus one(std::vector<int>{all.back()});
    EXPECT_EQ(one.failure(), "");
    placed.set_value();
    EXPECT_THAT(during.get_future().get(), ElementsAre(all.back()));
    EXPECT_THAT(AllowedCpus().cpus, ElementsAre(all.back()));
    EXPECT_THAT(CpusOfNewThread(), ElementsAre(all.back()));
  }
  released.set_value();
  EXPECT_EQ(after.get_future().get(), all);
  EXPECT_EQ(AllowedCpus().cpus, all);
  old.join();
}

TEST(ProcessOnCpusTest, SaysWhyItCannot) {
  const ProcessOnCpus nowhere(std::vector<int>{65535});
  EXPECT_NE(nowhere.failure(), "");
}

}  // namespace
}  // namespace topdnn
