#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "harness/files/small_file.h"
#include "harness/probes/quiet.h"
#include "harness/probes/team.h"

namespace topdnn {
namespace {

using Marks = std::vector<WorkMark>;

TEST(RateInCommon, OfOneThreadIsItsRate) {
  const std::vector<Marks> one = {{{1.0, 0}, {1.5, 100}, {2.0, 200}}};
  EXPECT_DOUBLE_EQ(RateInCommon(one, 0.5), 200);
}

TEST(RateInCommon, SumsCoresOfTwoSpeeds) {
  // A fast core and one of half its speed: 200 + 100, not twice the slower one.
  const std::vector<Marks> hybrid = {{{0.0, 0}, {0.5, 100}, {1.0, 200}}, {{0.0, 0}, {1.0, 100}}};
  EXPECT_DOUBLE_EQ(RateInCommon(hybrid, 0.5), 300);
}

TEST(RateInCommon, CountsTheTimeInWhichAllWorked) {
  // The second thread works from 0.5 to 2, the first from 0 to 1.5: they have 0.5 to 1.5 in common.
  const std::vector<Marks> shifted = {{{0.0, 0}, {1.0, 100}, {1.5, 150}},
                                      {{0.5, 0}, {1.0, 50}, {2.0, 450}}};
  EXPECT_DOUBLE_EQ(RateInCommon(shifted, 0.5), (150 - 50) + (50 + 200));
}

TEST(RateInCommon, ShowsAThreadThatLostItsCpu) {
  // Both do 100 per second; the second stops for 3 s within its second part.
  const std::vector<Marks> stopped = {{{0, 0}, {1, 100}, {2, 200}, {3, 300}, {4, 400}, {5, 500}},
                                      {{0, 0}, {1, 100}, {5, 200}}};
  EXPECT_DOUBLE_EQ(RateInCommon(stopped, 0.5), (500 + 200) / 5.0);
}

TEST(RateInCommon, ThreadsThatWorkedInTurnsAreNotATeam) {
  const std::vector<Marks> apart = {{{0, 0}, {1, 100}}, {{3, 0}, {4, 100}}};
  EXPECT_DOUBLE_EQ(RateInCommon(apart, 0.5), 200 / 4.0);
  const std::vector<Marks> hardly = {{{0, 0}, {1, 100}}, {{0.75, 0}, {2, 100}}};
  EXPECT_DOUBLE_EQ(RateInCommon(hardly, 0.5), 200 / 2.0);
}

TEST(ShareOnCpu, IsOfTheTimeThatTheThreadsWorked) {
  const std::vector<Marks> together = {{{0, 0}, {10, 1}}, {{0, 0}, {10, 1}}};
  EXPECT_DOUBLE_EQ(ShareOnCpu(together, std::vector<double>{10, 10}, 0.5), 1);
  EXPECT_DOUBLE_EQ(ShareOnCpu(together, std::vector<double>{10, 4}, 0.5), 0.7);
  // In turns on one CPU: each thread had the CPU for half of the time.
  const std::vector<Marks> apart = {{{0, 0}, {1, 100}}, {{1, 0}, {2, 100}}};
  EXPECT_DOUBLE_EQ(ShareOnCpu(apart, std::vector<double>{1, 1}, 0.5), 0.5);
}

TEST(ProbeTeam, MeasuresAllThreadsAndOneAlone) {
  const Probe* probe = WidestProbe(ProbeKind::kFma, "f32");
  if (probe == nullptr) GTEST_SKIP() << "no multiply-add probe runs on this machine";
  ProbeTeam team(*probe, 2, 8192, 1e-3);
  const std::optional<double> both = team.Window();
  if (!both) GTEST_SKIP() << "OpenMP gives fewer than 2 threads";
  EXPECT_GT(*both, 0);
  EXPECT_GT(team.on_cpu(), 0);
  EXPECT_LE(team.on_cpu(), 1);
  EXPECT_GT(team.WindowAlone(), 0);
}

long PageFaults() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// Small pages for this process while it exists, so that page faults count pages.
class SmallPages {
 public:
  SmallPages() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
  ~SmallPages() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
};

TEST(ProbeTeam, ASecondTeamUsesThePagesOfTheFirst) {
  const Probe* read = WidestProbe(ProbeKind::kRead);
  if (read == nullptr) GTEST_SKIP() << "no read probe runs on this machine";
  constexpr std::size_t kBytes = 32 << 20;
  const long pages = kBytes / sysconf(_SC_PAGESIZE);
  const SmallPages small_pages;
  KeptPages kept;
  const auto faults_of_a_team = [&](KeptPages* from) {
    const long before = PageFaults();
    const ProbeTeam team(*read, 1, kBytes, 1e-4, from);
    return PageFaults() - before;
  };
  if (faults_of_a_team(&kept) < pages) GTEST_SKIP() << "this system gives larger pages";
  EXPECT_LT(faults_of_a_team(&kept), pages / 2);
  EXPECT_GE(faults_of_a_team(nullptr), pages);
}

TEST(HugePages, AreUsedWhereTheSystemGivesThem) {
  const FileText mode = ReadSmallFile("/sys/kernel/mm/transparent_hugepage/enabled");
  if (mode.error != 0 || mode.text.find("[never]") != std::string::npos) {
    GTEST_SKIP() << "this system has no transparent huge pages";
  }
  constexpr std::size_t kBytes = 64 << 20;
  const long pages = kBytes / sysconf(_SC_PAGESIZE);
  const auto faults_of = [](const PageMemory& memory) {
    const long before = PageFaults();
    for (std::size_t i = 0; i < kBytes; i += 4096) memory[i] = std::byte{1};
    return PageFaults() - before;
  };
  const long faults = faults_of(AllocatePages(kBytes));
  if (faults >= pages) GTEST_SKIP() << "this system has no huge pages free";
  EXPECT_LT(faults, pages / 2);
}

TEST(KeptPages, EachThreadGetsItsOwnBlockOfTheSizeAgain) {
  KeptPages kept;
  PageMemory first = kept.Take(0, 8192);
  const std::byte* const address = first.get();
  kept.Keep(0, 8192, std::move(first));
  const PageMemory other_thread = kept.Take(1, 8192);
  const PageMemory other_size = kept.Take(0, 16384);
  EXPECT_NE(other_thread.get(), address);
  EXPECT_NE(other_size.get(), address);
  EXPECT_EQ(kept.Take(0, 8192).get(), address);
}

TEST(CorePace, ComparesReadingsWithTheHighestOfItsWidth) {
  CorePace pace(1);
  if (!pace.works()) GTEST_SKIP() << "the probes are written for x86-64";
  EXPECT_GT(pace.cost_seconds(), 0);
  for (int i = 0; i < 100; ++i) EXPECT_GT(pace.Read(), 0);
  EXPECT_FALSE(pace.IsSlow(pace.full()));
  EXPECT_FALSE(pace.IsSlow(0.95 * pace.full()));
  EXPECT_TRUE(pace.IsSlow(0.93 * pace.full()));
  EXPECT_GE(CorePace(1).full(), pace.full());  // known in the whole process
  // It runs 3 us of instructions that every core of the last ten years issues 1 to 8 a cycle of.
  EXPECT_GT(pace.full(), 0.5e9);
  EXPECT_LT(pace.full(), 8 * 8e9);
}

TEST(CorePace, TicksBecomeAPaceLater) {
  CorePace pace(1);
  if (!pace.works()) GTEST_SKIP() << "the probes are written for x86-64";
  EXPECT_EQ(pace.PaceOf({}), 0);
  const CorePace::Ticks ticks = pace.ReadTicks();
  ASSERT_GT(ticks.slowest, 0U);
  EXPECT_DOUBLE_EQ(pace.PaceOf({2 * ticks.slowest, ticks.common}), pace.PaceOf(ticks) / 2);
}

TEST(CorePace, TakesTheUndisturbedWindowsIfTheyAreEnough) {
  const Probe* probe = FindProbe("core/issue/moves");
  if (probe == nullptr) GTEST_SKIP() << "the probes are written for x86-64";
  ProbeTeam team(*probe, 1, 8192, 1e-4);
  QuietWindows windows(team, 1);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(windows.Measure());
    windows.Keep(i);
  }
  EXPECT_LE(windows.undisturbed(), 10);
  const std::size_t undisturbed = static_cast<std::size_t>(windows.undisturbed());
  EXPECT_EQ(windows.Take(0).values.size(), undisturbed);
  EXPECT_EQ(windows.Take(0).on_cpu.size(), undisturbed);
  EXPECT_EQ(windows.Take(11).values, (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace topdnn
