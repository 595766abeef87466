// The other sources of width requests: the program itself, signals, and the container's limits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/machine/cgroup.h"
#include "harness/machine/cpu_set.h"
#include "harness/width/width_control.h"
#include "harness/width/width_limits.h"
#include "harness/width/width_signals.h"
#include "harness/width/width_watcher.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

// Polls for at most 20 s.
bool Becomes(const std::function<bool()>& condition) {
  for (int i = 0; i < 20000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(WidthControl, StaysWithinItsBounds) {
  WidthControl control(2, 4, 3);
  EXPECT_FALSE(control.SetWidth(1));
  EXPECT_FALSE(control.SetWidth(5));
  EXPECT_EQ(control.width(), 3);
  EXPECT_TRUE(control.SetWidth(4));
  EXPECT_EQ(control.width(), 4);
  control.Widen(3);
  EXPECT_EQ(control.width(), 4);
  control.Widen(-10);
  EXPECT_EQ(control.width(), 2);
}

TEST(WidthControl, ALimitCountsBelowTheLeastWidthAndEnds) {
  WidthControl control(2, 4, 3);
  control.SetLimit(1);
  EXPECT_EQ(control.width(), 1);
  EXPECT_EQ(control.wanted(), 3);
  control.SetLimit(0);
  EXPECT_EQ(control.width(), 1);
  control.SetLimit(100);
  EXPECT_EQ(control.width(), 3);
}

TEST(WidthControl, RefusesImpossibleBounds) {
  EXPECT_THROW(WidthControl(0, 2, 1), std::invalid_argument);
  EXPECT_THROW(WidthControl(2, 1, 1), std::invalid_argument);
  EXPECT_THROW(WidthControl(1, 2, 3), std::invalid_argument);
}

TEST(WidthControl, TakesRequestsOfManyThreads) {
  WidthControl control(1, 8, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&control, i] {
      for (int k = 0; k < 10000; ++k) {
        control.Widen(i % 2 == 0 ? 1 : -1);
        control.SetWidth(1 + k % 8);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(control.width(), 1);
  EXPECT_LE(control.width(), 8);
}

// In a child process, so that its signals stay there. `body` returns the exit status.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::unique_ptr<WidthWatcher> WatchSignals(WidthControl& control) {
  BlockWidthSignals();
  std::vector<std::unique_ptr<WidthSource>> sources;
  sources.push_back(std::make_unique<WidthSignals>(control, nullptr));
  return std::make_unique<WidthWatcher>(std::move(sources));
}

TEST(WidthSignals, ChangeTheWidthByOne) {
  EXPECT_EQ(InChild([] {
              WidthControl control(1, 3, 2);
              const auto watcher = WatchSignals(control);
              kill(getpid(), SIGUSR2);
              if (!Becomes([&] { return control.width() == 3; })) return 1;
              for (const int width : {2, 1}) {
                kill(getpid(), SIGUSR1);
                if (!Becomes([&] { return control.width() == width; })) return 2;
              }
              kill(getpid(), SIGUSR1);  // (1 is the least)
              kill(getpid(), SIGTERM);
              if (!Becomes([&] { return control.stopped(); })) return 3;
              return control.width() == 1 && control.signal() == SIGTERM ? 0 : 4;
            }),
            0);
}

TEST(WidthSignals, ASecondInterruptEndsTheProcess) {
  EXPECT_EQ(InChild([] {
              WidthControl control(1, 3, 2);
              const auto watcher = WatchSignals(control);
              kill(getpid(), SIGINT);
              if (!Becomes([&] { return control.stopped(); })) return 1;
              kill(getpid(), SIGINT);
              std::this_thread::sleep_for(std::chrono::seconds(20));
              return 2;
            }),
            128 + SIGINT);
}

// A root folder with the files of control groups.
class WidthLimitsTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    // (as the kernel does: at no time is the file empty)
    const std::filesystem::path next = file.string() + ".next";
    std::ofstream(next) << text;
    std::filesystem::rename(next, file);
  }
  void UseVersion2(const std::string& group) const {
    Write("proc/self/cgroup", "0::" + group + "\n");
    Write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  }
  void UseVersion1(const std::string& group) const {
    Write("proc/self/cgroup", "3:cpuset:" + group + "\n1:cpu,cpuacct:" + group + "\n");
    Write("proc/self/mountinfo",
          "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
          "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  }
  int Limit(int affinity = 8) const { return WidthLimit(affinity, folder_.path()); }

  TestFolder folder_;
};

TEST_F(WidthLimitsTest, WithoutFilesTheAffinityCounts) { EXPECT_EQ(Limit(), 8); }

TEST_F(WidthLimitsTest, Version2) {
  UseVersion2("/jobs/a");
  EXPECT_EQ(Limit(), 8);  // the files are missing
  Write("sys/fs/cgroup/jobs/a/cpu.max", "max 100000\n");
  EXPECT_EQ(Limit(), 8);
  Write("sys/fs/cgroup/jobs/a/cpu.max", "300000 100000\n");
  EXPECT_EQ(Limit(), 3);
  Write("sys/fs/cgroup/jobs/a/cpu.max", "250000 100000\n");  // 2.5 CPUs
  EXPECT_EQ(Limit(), 2);
  Write("sys/fs/cgroup/jobs/a/cpu.max", "20000 100000\n");  // 0.2 CPUs
  EXPECT_EQ(Limit(), 1);
  Write("sys/fs/cgroup/jobs/a/cpu.max", "400000 100000\n");
  Write("sys/fs/cgroup/jobs/cpu.max", "200000 100000\n");  // of the group above
  EXPECT_EQ(Limit(), 2);
}

TEST_F(WidthLimitsTest, Version2Cpuset) {
  UseVersion2("/jobs/a");
  Write("sys/fs/cgroup/jobs/a/cpuset.cpus.effective", "0-2,5\n");
  EXPECT_EQ(Limit(), 4);
  EXPECT_EQ(Limit(3), 3);
  Write("sys/fs/cgroup/jobs/cpuset.cpus.effective", "0-1\n");
  EXPECT_EQ(Limit(), 2);
  Write("sys/fs/cgroup/jobs/a/cpuset.cpus.effective", "\n");  // (while CPUs go offline)
  EXPECT_EQ(Limit(), 2);
}

TEST_F(WidthLimitsTest, Version1) {
  UseVersion1("/box");
  Write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Limit(), 8);
  Write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "550000\n");
  EXPECT_EQ(Limit(), 5);
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "350000\n");  // of the group above
  EXPECT_EQ(Limit(), 5);                                    // (it has no period)
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Limit(), 3);
  Write("sys/fs/cgroup/cpuset/box/cpuset.cpus", "0-3\n");
  EXPECT_EQ(Limit(), 3);
  Write("sys/fs/cgroup/cpuset/box/cpuset.effective_cpus", "4-5\n");
  EXPECT_EQ(Limit(), 2);
}

TEST_F(WidthLimitsTest, AQuotaThatIsNotANumberIsNone) {
  UseVersion2("/a");
  for (const char* text : {"", "\n", "x y\n", "100000\n", "0 100000\n", "-5 100000\n", "1 0\n"}) {
    Write("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(Limit(), 8) << text;
  }
}

TEST_F(WidthLimitsTest, AreFollowedWhileARunContinues) {
  UseVersion2("/a");
  Write("sys/fs/cgroup/a/cpuset.cpus.effective", "0-3\n");
  WidthControl control(1, 8, 8);
  std::vector<std::unique_ptr<WidthSource>> sources;
  sources.push_back(std::make_unique<WidthLimits>(control, folder_.path(), [] { return 8; }));
  const WidthWatcher watcher(std::move(sources));
  EXPECT_EQ(control.width(), 4);
  for (const auto& [cpus, width] :
       std::vector<std::pair<std::string, int>>{{"0-1\n", 2}, {"3\n", 1}, {"0-7\n", 8}}) {
    Write("sys/fs/cgroup/a/cpuset.cpus.effective", cpus);
    EXPECT_TRUE(Becomes([&] { return control.width() == width; })) << cpus;
  }
}

TEST(WidthLimits, CpusInAllLists) {
  EXPECT_EQ(CpusInAll({}), std::nullopt);
  const std::vector<std::string> lists = {"0-3\n", "2-5", "\n", "x"};
  EXPECT_EQ(CpusInAll(lists), 2);
}

// A control group of this machine, for its lifetime; version 1 with the controller `cpu`.
class OwnGroup {
 public:
  OwnGroup() {
    std::ifstream mounts("/proc/self/mountinfo");
    const std::string text{std::istreambuf_iterator<char>(mounts), {}};
    for (const CgroupMount& mount : ParseCgroupMounts(text)) {
      if (mount.version != 1 || std::find(mount.controllers.begin(), mount.controllers.end(),
                                          "cpu") == mount.controllers.end()) {
        continue;
      }
      const std::filesystem::path path =
          std::filesystem::path(mount.mount_point) / ("topdnn-test-" + std::to_string(getpid()));
      std::error_code error;
      if (std::filesystem::create_directory(path, error)) path_ = path;
    }
  }
  ~OwnGroup() {
    if (!path_.empty()) rmdir(path_.c_str());
  }
  bool exists() const { return !path_.empty(); }
  bool Write(const std::string& file, const std::string& text) const {
    std::ofstream stream(path_ / file);
    stream << text;
    stream.flush();
    return stream.good();
  }

 private:
  std::filesystem::path path_;
};

TEST(WidthLimits, FollowTheQuotaOfARealControlGroup) {
  const int cpus = AffinityOfProcess();
  if (cpus < 2) GTEST_SKIP() << "a quota of fewer CPUs needs two, and this process may use one";
  const OwnGroup group;
  if (!group.exists()) GTEST_SKIP() << "no control group (version 1, cpu) can be made here";
  const int status = InChild([&] {
    if (!group.Write("cgroup.procs", std::to_string(getpid()))) return 77;
    if (WidthLimit(cpus) != cpus) return 78;
    if (!group.Write("cpu.cfs_quota_us", "100000")) return 77;
    if (WidthLimit(cpus) != 1) return 1;
    if (!group.Write("cpu.cfs_quota_us", "-1")) return 2;
    return WidthLimit(cpus) == cpus ? 0 : 3;
  });
  if (status == 77) GTEST_SKIP() << "the control group cannot be changed here";
  if (status == 78) GTEST_SKIP() << "this process's quota is already below its CPUs";
  EXPECT_EQ(status, 0);
}

TEST(WidthLimits, FollowTheAffinityOfTheProcess) {
  if (AffinityOfProcess() < 2) GTEST_SKIP() << "needs two CPUs, and this process may use one";
  EXPECT_EQ(InChild([] {
              cpu_set_t one;
              CPU_ZERO(&one);
              CPU_SET(static_cast<std::size_t>(AllowedCpus().cpus.front()), &one);
              sched_setaffinity(0, sizeof one, &one);
              return AffinityOfProcess() == 1 ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace topdnn
