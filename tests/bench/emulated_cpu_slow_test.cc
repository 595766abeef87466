// CPUs with fewer instructions than those for which the libraries were tuned, in QEMU's user-mode
// emulation. A backend runs, or is refused in one line. None ends with an illegal instruction.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <tuple>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// QEMU's name of a CPU, and a backend.
using CpuAndBackend = std::tuple<std::string, std::string>;

class EmulatedCpuTest : public testing::TestWithParam<CpuAndBackend> {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the sanitizer's shadow memory does not fit the emulation";
    if (RunShell("command -v qemu-x86_64").exit_status != 0) {
      GTEST_SKIP() << "qemu-x86_64 is not installed (apt-get install qemu-user)";
    }
  }
};

TEST_P(EmulatedCpuTest, AStepRunsOrIsRefusedInOneLine) {
  const auto& [cpu, backend] = GetParam();
  const TestFolder folder;
  const std::string dump = (folder.path() / "step.npz").string();
  const Outcome outcome =
      RunShell("qemu-x86_64 -cpu " + cpu + " " + Quoted(TOPDNN_BINARY_DIR "/topdnn") +
               " step lenet5 --batch 1 --threads 1 --data synthetic --backend " + backend +
               " --dump " + Quoted(dump) + " 2>" + Quoted((folder.path() / "errors").string()) +
               " && echo ran; grep -v 'warning: TCG' " +
               Quoted((folder.path() / "errors").string()) + "; true");
  const bool ran = outcome.output.find("ran\n") != std::string::npos;
  EXPECT_THAT(outcome.output, testing::Not(testing::HasSubstr("signal")));
  if (ran) return;
  EXPECT_EQ(backend, "openblas") << outcome.output;
  EXPECT_THAT(outcome.output, testing::HasSubstr("OpenBLAS detects this CPU as"));
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
}

std::string NameOfCase(const testing::TestParamInfo<CpuAndBackend>& tested) {
  std::string name = std::get<0>(tested.param) + "_" + std::get<1>(tested.param);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Cpus, EmulatedCpuTest,
    testing::Combine(testing::Values("Haswell-noTSX,-fma", "SandyBridge", "Nehalem", "qemu64"),
                     testing::Values("onednn", "openblas", "eigen", "eigen-sgemm", "reference")),
    NameOfCase);

}  // namespace
}  // namespace topdnn
