#include <gtest/gtest.h>

#include "harness/machine/cgroup.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

TEST(CgroupParsers, Membership) {
  const auto groups = ParseCgroupMembership(
      "4:memory:/jobs/a:b\n2:cpu,cpuacct:/jobs\n1:name=systemd:/\n0::/user.slice/x\nnonsense\n");
  EXPECT_EQ(groups.at("memory"), "/jobs/a:b");
  EXPECT_EQ(groups.at("cpu"), "/jobs");
  EXPECT_EQ(groups.at("cpuacct"), "/jobs");
  EXPECT_EQ(groups.at(""), "/user.slice/x");
  EXPECT_EQ(groups.size(), 5U);
}

TEST(CgroupParsers, Mounts) {
  const auto mounts = ParseCgroupMounts(
      "25 30 0:23 / /proc rw,relatime shared:5 - proc proc rw\n"
      "32 31 0:29 /docker/1 /sys/fs/cgroup/cpu rw,relatime master:3 - cgroup cgroup "
      "rw,cpu,cpuacct\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
      "broken\n");
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].version, 1);
  EXPECT_EQ(mounts[0].root, "/docker/1");
  EXPECT_EQ(mounts[0].mount_point, "/sys/fs/cgroup/cpu");
  EXPECT_EQ(mounts[0].controllers, (std::vector<std::string>{"rw", "cpu", "cpuacct"}));
  EXPECT_EQ(mounts[1].version, 2);
}

TEST(CgroupParsers, MemoryLimits) {
  EXPECT_EQ(ParseMemoryLimit("1073741824\n"), 1073741824U);
  EXPECT_EQ(ParseMemoryLimit("0\n"), 0U);
  EXPECT_FALSE(ParseMemoryLimit("max\n"));
  EXPECT_FALSE(ParseMemoryLimit("9223372036854771712\n"));
  EXPECT_FALSE(ParseMemoryLimit(""));
}

TEST(CgroupParsers, CpuLimits) {
  EXPECT_EQ(ParseCpuMax("150000 100000\n"), 1.5);
  EXPECT_FALSE(ParseCpuMax("max 100000\n"));
  EXPECT_FALSE(ParseCpuMax("150000\n"));
  EXPECT_EQ(ParseCpuQuota("50000\n", "100000\n"), 0.5);
  EXPECT_FALSE(ParseCpuQuota("-1\n", "100000\n"));
  EXPECT_FALSE(ParseCpuQuota("50000\n", "0\n"));
}

TEST(CgroupParsers, KeyedNumbers) {
  const char* text = "active_file 7\ninactive_file 4096\nMemAvailable:   1234 kB\n";
  EXPECT_EQ(ParseKeyedNumber(text, "inactive_file"), 4096U);
  EXPECT_EQ(ParseKeyedNumber(text, "MemAvailable"), 1234U);
  EXPECT_FALSE(ParseKeyedNumber(text, "inactive"));
  EXPECT_FALSE(ParseKeyedNumber(text, "file"));
}

// A file system with a few files in a temporary folder.
class CgroupTree : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const { folder_.Write(path, text); }

  const TestFolder folder_;
  const std::filesystem::path root_ = folder_.path();
};

TEST_F(CgroupTree, Version2UsesTheSmallestLimitAlongThePath) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("sys/fs/cgroup/a/memory.max", "1000000\n");
  Write("sys/fs/cgroup/a/memory.current", "600000\n");
  Write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 100000\n");
  Write("sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("sys/fs/cgroup/a/cpu.max", "400000 100000\n");
  Write("sys/fs/cgroup/a/b/cpu.max", "250000 100000\n");
  const CgroupLimits limits = ReadCgroupLimits(root_);
  EXPECT_EQ(limits.source, "cgroup v2");
  EXPECT_EQ(limits.memory_limit, 1000000U);
  EXPECT_EQ(limits.memory_available, 500000U);
  EXPECT_EQ(limits.cpu_quota, 2.5);
}

// The root of the mount is /a. Its folder b is the group /a/b, not this process's group /ab.
TEST_F(CgroupTree, AGroupWhoseNameBeginsLikeTheRootIsNotBelowIt) {
  Write("proc/self/cgroup", "0::/ab\n");
  Write("proc/self/mountinfo", "41 31 0:38 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("sys/fs/cgroup/memory.max", "1000000\n");
  Write("sys/fs/cgroup/b/memory.max", "500000\n");
  EXPECT_EQ(ReadCgroupLimits(root_).memory_limit, 1000000U);
}

TEST_F(CgroupTree, Version1InAContainerWithItsGroupAsRoot) {
  Write("proc/self/cgroup", "4:memory:/docker/1\n2:cpu,cpuacct:/docker/1\n0::/\n");
  Write("proc/self/mountinfo",
        "32 31 0:29 /docker/1 /cg/cpu ro - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 /docker/1 /cg/memory ro - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
  Write("cg/memory/memory.limit_in_bytes", "2000000\n");
  Write("cg/memory/memory.usage_in_bytes", "2500000\n");
  Write("cg/cpu/cpu.cfs_quota_us", "-1\n");
  Write("cg/cpu/cpu.cfs_period_us", "100000\n");
  const CgroupLimits limits = ReadCgroupLimits(root_);
  EXPECT_EQ(limits.source, "cgroup v1");
  EXPECT_EQ(limits.memory_limit, 2000000U);
  EXPECT_EQ(limits.memory_available, 0U);
  EXPECT_FALSE(limits.cpu_quota);
}

TEST(CgroupParsers, Throttling) {
  const auto v2 = ParseCgroupThrottling(
      "usage_usec 9000000\nuser_usec 1\nsystem_usec 2\nnr_periods 120\nnr_throttled 30\n"
      "throttled_usec 2500000\nnr_bursts 0\nburst_usec 0\n");
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->periods, 120U);
  EXPECT_EQ(v2->throttled, 30U);
  EXPECT_DOUBLE_EQ(v2->seconds, 2.5);
  const auto v1 = ParseCgroupThrottling("nr_periods 7\nnr_throttled 2\nthrottled_time 40000000\n");
  ASSERT_TRUE(v1);
  EXPECT_EQ(v1->periods, 7U);
  EXPECT_DOUBLE_EQ(v1->seconds, 0.04);
  // Version 2 without the controller counts only the time used.
  EXPECT_FALSE(ParseCgroupThrottling("usage_usec 9000000\nuser_usec 1\nsystem_usec 2\n"));
  EXPECT_FALSE(ParseCgroupThrottling(""));
  EXPECT_FALSE(ParseCgroupThrottling("nr_periods x\nnr_throttled 2\nthrottled_usec 1\n"));
}

TEST_F(CgroupTree, ThrottlingOfTheGroupAndItsParents) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
  EXPECT_FALSE(ReadCgroupThrottling(root_));
  Write("sys/fs/cgroup/a/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_usec 1000000\n");
  Write("sys/fs/cgroup/a/b/cpu.stat", "nr_periods 20\nnr_throttled 1\nthrottled_usec 500000\n");
  const auto all = ReadCgroupThrottling(root_);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->periods, 30U);
  EXPECT_EQ(all->throttled, 5U);
  EXPECT_DOUBLE_EQ(all->seconds, 1.5);
}

// The same hierarchy at two places, as some container networks mount it.
TEST_F(CgroupTree, ThrottlingOfAHierarchyThatIsMountedTwice) {
  Write("proc/self/cgroup", "0::/a\n");
  Write("proc/self/mountinfo",
        "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        "52 31 0:38 / /run/cilium/cgroupv2 rw - cgroup2 none rw\n");
  for (const char* place : {"sys/fs/cgroup", "run/cilium/cgroupv2"}) {
    Write(std::string(place) + "/a/cpu.stat",
          "nr_periods 10\nnr_throttled 4\nthrottled_usec 1000000\n");
  }
  const auto all = ReadCgroupThrottling(root_);
  ASSERT_TRUE(all);
  EXPECT_DOUBLE_EQ(all->seconds, 1);
}

TEST_F(CgroupTree, ThrottlingOfVersion1) {
  Write("proc/self/cgroup", "2:cpu,cpuacct:/docker/1\n0::/\n");
  Write("proc/self/mountinfo",
        "32 31 0:29 /docker/1 /cg/cpu ro - cgroup cgroup rw,cpu,cpuacct\n"
        "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
  Write("cg/cpu/cpu.stat", "nr_periods 7\nnr_throttled 2\nthrottled_time 40000000\n");
  Write("cg/cpu/cpu.cfs_quota_us", "150000\n");
  Write("cg/cpu/cpu.cfs_period_us", "100000\n");
  const auto all = ReadCgroupThrottling(root_);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->throttled, 2U);
  EXPECT_EQ(ReadCgroupLimits(root_).cpu_quota, 1.5);
}

TEST_F(CgroupTree, NothingToRead) {
  EXPECT_FALSE(ReadCgroupThrottling(root_));
  const CgroupLimits limits = ReadCgroupLimits(root_);
  EXPECT_EQ(limits.source, "");
  EXPECT_FALSE(limits.memory_limit);
  EXPECT_FALSE(limits.cpu_quota);
}

}  // namespace
}  // namespace topdnn
