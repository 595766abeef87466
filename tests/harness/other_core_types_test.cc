// Events that a perf source counts on cores of other types.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "harness/counters/perf_source.h"
#include "tests/harness/fake_pmu.h"

namespace topdnn {
namespace {

// The counts of an event, and of one of cores of another type, on two threads.
std::vector<EventCount> CountOnTwoThreads(FakePmu& pmu, const PerfSyscalls& calls) {
  const ResolvedEvent own{"own", PERF_TYPE_RAW, 1, "raw"};
  const ResolvedEvent other{"other", PERF_TYPE_RAW, 2, "raw"};
  const PerfPlan plan = {.passes = {{own}}, .absent = {}, .elsewhere = {other}, .counters = 2};
  PerfSource source(calls, plan, [] { return std::vector<pid_t>{0, 101}; });
  source.Begin(0);
  std::vector<std::uint64_t> before(source.slots());
  std::vector<std::uint64_t> after(source.slots());
  source.Read(before.data());
  pmu.Work(100);
  source.Read(after.data());
  return source.Fold(before, after);
}

TEST(OtherCoreTypesTest, ARefusedEventIsAbsentWithTheReason) {
  FakePmu pmu;
  pmu.refused = {{2, EMFILE}};
  const std::vector<EventCount> counts = CountOnTwoThreads(pmu, pmu.Calls());
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_TRUE(counts[0].value);
  EXPECT_FALSE(counts[1].value);
  EXPECT_THAT(counts[1].reason, testing::HasSubstr("other could not be opened on every thread"));
  EXPECT_THAT(counts[1].reason, testing::HasSubstr("ulimit -n"));
}

TEST(OtherCoreTypesTest, AFailedReadingMakesTheSumAbsent) {
  FakePmu pmu;
  const PerfSyscalls fake = pmu.Calls();
  PerfSyscalls calls = fake;
  std::vector<int> of_other;  // the event's file descriptors, by thread
  calls.open = [&](const perf_event_attr& attr, pid_t thread, int cpu, int group) {
    const int fd = fake.open(attr, thread, cpu, group);
    if (attr.config == 2) of_other.push_back(fd);
    return fd;
  };
  calls.read = [&](int fd, void* buffer, std::size_t bytes) -> ssize_t {
    return fd == of_other.back() ? -EIO : fake.read(fd, buffer, bytes);
  };
  const std::vector<EventCount> counts = CountOnTwoThreads(pmu, calls);
  ASSERT_EQ(of_other.size(), 2u);
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_TRUE(counts[0].value);
  EXPECT_FALSE(counts[1].value);
  EXPECT_THAT(counts[1].reason, testing::HasSubstr("other could not be read on every thread"));
}

}  // namespace
}  // namespace topdnn
