// The topdnn commands in README.md and docs/ work: each one runs with the program just built and
// must succeed. The commands of a page share a folder, and a CPU, except those that need several.
// A command of an earlier page does not run again, unless other commands of the page need its
// files.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "bench/command_line/command.h"
#include "harness/machine/cpu_set.h"
#include "tests/house/shell_blocks.h"
#include "tests/house/source_tree.h"
#include "tests/kernels/case_count.h"
#include "tests/process/child_process.h"
#include "tests/process/mpirun.h"
#include "tests/process/reserved_cpu.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

constexpr std::string_view kProgram = "build/release/topdnn";
// The compiler, for a source of the repository.
constexpr std::string_view kCompiler = "cc ";
// Built with Debian 12's XNNPACK alone.
constexpr std::string_view kXnnpack = "examples/libtopdnn_xnnpack.so";
// A script for Debian's PyTorch.
constexpr std::string_view kScript = "python3 examples/resnet18.py";

std::set<std::string> CommandsBefore(const std::string& document) {
  std::set<std::string> commands;
  for (const std::string& path : DocumentPaths()) {
    if (path == document) break;
    for (const std::string& command : ShellCommands(ReadSource(path).text)) {
      commands.insert(command);
    }
  }
  return commands;
}

bool NeedsSeveralCpus(const std::string& command) {
  return command.find(" corun ") != std::string::npos ||
         command.find(" malleable ") != std::string::npos ||
         command.find(" scale ") != std::string::npos;
}

bool HasMpi() {
  return RunShell("command -v mpirun").exit_status == 0 &&
         std::filesystem::exists(TOPDNN_BINARY_DIR "/libtopdnn_mpi.so");
}

std::string Replaced(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The command with the paths of this build and of the sources. It measures for a shorter time, and
// less, because the test checks only that it succeeds.
std::string AsTried(std::string command) {
  command = Replaced(command, " --seconds 1 ", " --seconds 0.2 ");
  command = Replaced(command, " --seconds 2 ", " --seconds 0.2 ");
  command = Replaced(command, " --seconds 0.5", " --seconds 0.1");
  for (const std::string mode : {" cnn --train", " cnn --infer"}) {
    for (const std::string batch : {" --batch 32 ", " --batch 64 "}) {
      command = Replaced(command, mode + batch, mode + " --batch 8 ");
    }
  }
  command =
      Replaced(command, kScript,
               "/usr/bin/python3 " + Quoted(TOPDNN_SOURCE_DIR "/examples/resnet18.py") + " 3 2 64");
  command = Replaced(command, " --batch 16,64 --prefetch ", " --batch 16 --prefetch ");
  command = Replaced(command, " cosched --policy ", " cosched --no-speed-check --policy ");
  if (command.starts_with(kCompiler)) {
    for (const std::string folder : {" kernels/", " examples/", " harness/"}) {
      command = Replaced(command, folder, " " + Quoted(TOPDNN_SOURCE_DIR) + "/" + folder.substr(1));
    }
  }
  return Replaced(command, "build/release/", Quoted(TOPDNN_BINARY_DIR) + "/");
}

// Only the first profile of a page makes the experiments, so that the pages take less time. `made`:
// whether a profile of this page made them already.
std::string WithExperimentsOnce(const std::string& command, bool& made) {
  const std::string profile = "topdnn profile ";
  if (command.find(profile) == std::string::npos ||
      command.find("--no-experiments") != std::string::npos) {
    return command;
  }
  const bool asked = command.find("--experiment") != std::string::npos ||
                     command.find("--hot") != std::string::npos;
  if (asked || !std::exchange(made, true)) return command;
  return Replaced(command, profile, profile + "--no-experiments ");
}

class CommandsOfDocument : public testing::TestWithParam<std::string> {};

TEST_P(CommandsOfDocument, EachSucceeds) {
  const TestFolder folder;
  const ReservedCpu cpu(TOPDNN_BINARY_DIR);
  bool experiments = false;
  const auto page = ShellCommands(ReadSource(GetParam()).text);
  for (const std::string& command : CommandsToTry(page, CommandsBefore(GetParam()))) {
    const bool ranks = command.starts_with("mpirun ");
    if (!command.starts_with(kProgram) && !command.starts_with(kCompiler) && !ranks) continue;
    if (command.find(" scale ") != std::string::npos && !HasMpi()) {
      CountLeftOut("commands", command, "MPI is missing: install libopenmpi-dev and openmpi-bin");
      continue;
    }
    const bool xnnpack = command.find(kXnnpack) != std::string::npos;
    if (xnnpack && !std::filesystem::exists(std::string(TOPDNN_BINARY_DIR "/").append(kXnnpack))) {
      CountLeftOut("commands", command, "needs Debian 12's XNNPACK");
      continue;
    }
    if (command.find(kScript) != std::string::npos &&
        RunShell("/usr/bin/python3 -c 'import torch'").exit_status != 0) {
      CountLeftOut("commands", command, "needs Debian's python3-torch");
      continue;
    }
    const bool fleet =
        command.find(" fleet ") != std::string::npos || GetParam() == "docs/fleets.md";
    if (fleet && command.find("--dry-run") == std::string::npos) {
      CountLeftOut("commands", command, "needs Slurm: fleet_slurm_test.cc runs it");
      continue;
    }
    const bool several = NeedsSeveralCpus(command);
    if (several && AllowedCpus().cpus.size() < 2) {
      CountLeftOut("commands", command, "needs two CPUs");
      continue;
    }
    const std::string built = (ranks ? std::string(kMpirunVariables) : "") +
                              WithExperimentsOnce(AsTried(command), experiments);
    const Outcome outcome = RunShell("cd " + Quoted(folder.path().string()) + " && " +
                                     (several ? built : cpu.Run(built)));
    // A virtual machine may show its CPUs without a common cache.
    if (command.find("--cache-curve") != std::string::npos &&
        outcome.output.find("share their last cache with no other CPU") != std::string::npos) {
      CountLeftOut("commands", command, "needs two CPUs that share their last cache");
      continue;
    }
    // Beside other work even a result and itself may be too far spread to exclude a slowdown.
    if (command.find(" --fail-above ") != std::string::npos &&
        outcome.exit_status == kExitCannotTell) {
      EXPECT_TRUE(outcome.output.starts_with("cannot tell: ")) << outcome.output;
      continue;
    }
    EXPECT_EQ(outcome.exit_status, 0) << command << "\n" << outcome.output;
  }
}

INSTANTIATE_TEST_SUITE_P(Documents, CommandsOfDocument, testing::ValuesIn(DocumentPaths()),
                         [](const auto& test) { return TestNameOf(test.param); });

TEST(ReadmeCommandsTest, TheTwoScriptsAreShownFirst) {
  const auto commands = ShellCommands(ReadSource("README.md").text);
  ASSERT_GE(commands.size(), 2u);
  EXPECT_EQ(commands[0], "bench/run");
  EXPECT_EQ(commands[1], "tests/run");
}

// A second run of bench/run builds nothing, and passes on arguments and status.
TEST(ReadmeCommandsTest, BenchRunBuildsNothingTheSecondTime) {
  const std::filesystem::path root = TOPDNN_SOURCE_DIR;
  if (std::filesystem::path(TOPDNN_BINARY_DIR) != root / "build/release") {
    GTEST_SKIP() << "bench/run builds build/release, but this test runs in another build folder";
  }
  const std::string script = Quoted((root / "bench/run").string());
  const Outcome good = RunShell("TOPDNN_NO_INSTALL=1 " + script + " --help");
  EXPECT_EQ(good.exit_status, 0) << good.output;
  EXPECT_EQ(good.output.find("Building"), std::string::npos) << good.output;
  const Outcome bad = RunShell("TOPDNN_NO_INSTALL=1 " + script + " profile no_such_network");
  EXPECT_EQ(bad.exit_status, 2) << bad.output;
}

}  // namespace
}  // namespace topdnn
