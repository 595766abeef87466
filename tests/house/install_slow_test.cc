// cmake --install: the files that it installs below a prefix work from there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

class InstallTest : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome installed =
        RunShell("cmake --install " + Quoted(TOPDNN_BINARY_DIR) + " --prefix " + Quoted(prefix));
    ASSERT_EQ(installed.exit_status, 0) << installed.output;
  }

  // The only file of that name below the prefix.
  std::filesystem::path Find(const std::string& name) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(prefix)) {
      if (entry.path().filename() == name) return entry.path();
    }
    return {};
  }

  const TestFolder folder;
  const std::string prefix = folder.path() / "prefix";
};

TEST_F(InstallTest, TheProgramFindsItsLibrariesAndIsCompleted) {
  const std::string program = Quoted(prefix + "/bin/topdnn");
  const Outcome plan = RunShell(program + " plan cnn --infer --batch 1 --backend eigen");
  EXPECT_EQ(plan.exit_status, 0) << plan.output;
  const Outcome completion =
      RunShell("bash -n " + Quoted(Find("topdnn.1").parent_path().string() +
                                   "/../../bash-completion/completions/topdnn"));
  EXPECT_EQ(completion.exit_status, 0) << completion.output;
  EXPECT_NE(Find("_topdnn"), "");
  EXPECT_GT(std::filesystem::file_size(Find("topdnn.1")), 10000u);
}

TEST_F(InstallTest, APluginIsCompiledWithTheHeader) {
  const std::string include = Find("plugin.h").parent_path().parent_path();
  const Outcome outcome =
      RunShell("cd " + Quoted(folder.path().string()) + " && cc -shared -fPIC -I " +
               Quoted(include) + " " + Quoted(TOPDNN_SOURCE_DIR "/examples/conv.c") +
               " -o libmine.so && " + Quoted(prefix + "/bin/topdnn") +
               " plan lenet5 --infer --batch 1 --backend mine --fallback --plugin ./libmine.so");
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
}

TEST_F(InstallTest, AnotherProgramMeasuresWithTheHarness) {
  const std::string source = folder.Write("main.cc", R"(
#include <cstdio>

#include "harness/counters/source.h"
#include "harness/probes/ceilings.h"

int main() {
  std::printf("%zu sources\n", topdnn::CounterSources().size());
  return topdnn::CounterSources().empty() ? 1 : 0;
}
)");
  const std::string packages = Find("topdnn-harness.pc").parent_path();
  const Outcome outcome = RunShell("cd " + Quoted(folder.path().string()) +
                                   " && export PKG_CONFIG_PATH=" + Quoted(packages) + " && " +
                                   Quoted(TOPDNN_CXX_COMPILER) +
                                   " main.cc -o main $(pkg-config --cflags --libs "
                                   "topdnn-harness) && ./main");
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, testing::ContainsRegex("[1-9][0-9]* sources"));
}

}  // namespace
}  // namespace topdnn
