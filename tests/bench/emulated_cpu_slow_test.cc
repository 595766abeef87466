// Other CPUs in QEMU's user-mode emulation: those with fewer instructions than the libraries were
// tuned for, and those of other families and models. A backend runs, or is refused in one line.
// None ends with an illegal instruction.

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

template <typename Parameter>
class EmulationTest : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the sanitizer's shadow memory does not fit the emulation";
    if (RunShell("command -v qemu-x86_64").exit_status != 0) {
      GTEST_SKIP() << "qemu-x86_64 is not installed (apt-get install qemu-user)";
    }
  }
};
using EmulatedCpuTest = EmulationTest<CpuAndBackend>;

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

// A signature that Linux knows (arch/x86/include/asm/intel-family.h, arch/x86/kernel/cpu/amd.c),
// and how `topdnn machine` names it. machine_isa_test.cc has more, and the hybrid CPUs that QEMU
// lacks.
struct Signature {
  std::string vendor;
  int family, model;
  std::string name;
};

void PrintTo(const Signature& signature, std::ostream* stream) { *stream << signature.name; }

using SignatureTest = EmulationTest<Signature>;

TEST_P(SignatureTest, MachineNamesTheCpu) {
  const auto& [vendor, family, model, name] = GetParam();
  const std::string named = "family " + std::to_string(family) + " model " + std::to_string(model) +
                            " stepping 1), " + name + ",";
  const TestFolder cache;
  const Outcome outcome = RunShell(
      "XDG_CACHE_HOME=" + Quoted(cache.path().string()) + " qemu-x86_64 -cpu max,vendor=" + vendor +
      ",family=" + std::to_string(family) + ",model=" + std::to_string(model) + ",stepping=1 " +
      Quoted(TOPDNN_BINARY_DIR "/topdnn") + " machine 2>/dev/null");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.output, testing::HasSubstr(named));
}

INSTANTIATE_TEST_SUITE_P(Cpus, SignatureTest,
                         testing::Values(Signature{"GenuineIntel", 6, 0xDD, "clearwater_forest"},
                                         Signature{"AuthenticAMD", 0x1A, 0x44, "zen5"},
                                         Signature{"AuthenticAMD", 0x1A, 0x50, "zen6"},
                                         Signature{"AuthenticAMD", 0x1A, 0xB0, "not known"}),
                         [](const auto& tested) {
                           return tested.param.vendor + "_" + std::to_string(tested.param.model);
                         });

}  // namespace
}  // namespace topdnn
