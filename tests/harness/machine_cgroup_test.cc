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

// A file system of a few files below a temporary folder.
class CgroupTree : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const { folder_.Write(path, text); }

  const TestFolder folder_;
  const std::filesystem::path root_ = folder_.path();
};

TEST_F(CgroupTree, Version2TakesTheLeastAlongThePath) {
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

TEST_F(CgroupTree, Version1InAContainerThatSeesItsGroupAsRoot) {
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

TEST_F(CgroupTree, NothingToRead) {
  const CgroupLimits limits = ReadCgroupLimits(root_);
  EXPECT_EQ(limits.source, "");
  EXPECT_FALSE(limits.memory_limit);
  EXPECT_FALSE(limits.cpu_quota);
}

}  // namespace
}  // namespace topdnn
