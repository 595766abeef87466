#include "tests/process/reserved_cpu.h"

#include <gtest/gtest.h>

#include <optional>

#include "harness/machine/cpu_set.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

TEST(ReservedCpuTest, IsOneThatNoOtherHas) {
  if (AllowedCpus().cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  const TestFolder folder;
  const std::string path = folder.path().string();
  std::optional<ReservedCpu> first(path);
  const ReservedCpu second(path);
  const int free = first->number();
  EXPECT_NE(free, second.number());
  first.reset();
  EXPECT_EQ(ReservedCpu(path).number(), free);
}

TEST(ReservedCpuTest, TheCommandRunsOnIt) {
  const TestFolder folder;
  const ReservedCpu cpu(folder.path().string());
  const Outcome outcome = RunShell(cpu.Run("nproc"));
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.output, "1\n");
  const Outcome list = RunShell(cpu.Run("grep Cpus_allowed_list /proc/self/status"));
  EXPECT_EQ(list.output, "Cpus_allowed_list:\t" + std::to_string(cpu.number()) + "\n");
}

}  // namespace
}  // namespace topdnn
