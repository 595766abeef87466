// Each addition needs only one file. tests/outside/, copied to a folder outside the source tree,
// adds a kernel, a backend, a network, an ONNX operation, a CPU's Top-Down table, a counter source,
// a report, an experiment, a command and a data set. The program that is built there offers each of
// them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

class OutsideTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(TOPDNN_SOURCE_DIR "/tests/outside", folder_.path() / "source");
    const Outcome built =
        RunShell("cd " + Quoted(folder_.path().string()) +
                 " && cmake -G Ninja -S source -B build -DCMAKE_BUILD_TYPE=Release -Dtopdnn_DIR=" +
                 Quoted(TOPDNN_BINARY_DIR) + " && cmake --build build");
    ASSERT_EQ(built.exit_status, 0) << "tests/outside does not build:\n" << built.output;
  }

  // What the program prints for these arguments, in a folder with `outside.txt`.
  std::string Run(const std::string& arguments) const {
    const Outcome outcome = RunShell("cd " + Quoted(folder_.path().string()) +
                                     " && touch outside.txt && build/topdnn_outside " + arguments);
    EXPECT_EQ(outcome.exit_status, 0) << arguments << "\n" << outcome.output;
    return outcome.output;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void CommandTopdownTableDataSetAndOnnxOperation() const {
    EXPECT_THAT(Run("--help"), HasSubstr("what was added outside the tree"));
    const std::string lists = Run("outside");
    EXPECT_THAT(lists, HasSubstr("table outside_cpu\n"));
    EXPECT_THAT(lists, HasSubstr("data set zero images\n"));
    EXPECT_THAT(lists, HasSubstr("onnx Outside\n"));
    EXPECT_THAT(lists, HasSubstr("onnx Conv\n"));  // beside those of the tree
  }

  void KernelAndBackend() const {
    const std::string cases = Run("bench --problem negation/2x3x4x4 --benchmark_list_tests");
    EXPECT_THAT(cases, HasSubstr("negation/2x3x4x4/forward/reference/f32"));
    EXPECT_THAT(cases, HasSubstr("negation/2x3x4x4/forward/outside/f32"));
    // It runs only after it agrees with the reference.
    EXPECT_THAT(Run("bench --problem negation/2x3x4x4 --benchmark_filter=forward/outside/f32/t1/m "
                    "--threads 1 --benchmark_min_time=0.01"),
                HasSubstr("outside loop"));
  }

  void NetworkDataSetCounterSourceReportAndExperiment() const {
    EXPECT_THAT(Run("networks"), HasSubstr("outside"));
    Run("profile outside --batch 2 --iterations 8 --threads 1 --data . --counters outside "
        "--export outside=stages.txt --json o.json --experiment outside");
    EXPECT_THAT(Read("stages.txt"), HasSubstr(" stages\n"));
    EXPECT_THAT(Read("o.json"), HasSubstr("\"outside/readings\": "));
    EXPECT_THAT(Read("o.json"), HasSubstr("zero images"));
    EXPECT_THAT(Read("o.json"), HasSubstr("stages, as an experiment"));
  }

 private:
  const TestFolder folder_;
};

// One test, because each process of ctest would build the program again.
TEST_F(OutsideTest, TheProgramOffersEachAddition) {
  CommandTopdownTableDataSetAndOnnxOperation();
  KernelAndBackend();
  NetworkDataSetCounterSourceReportAndExperiment();
}

}  // namespace
}  // namespace topdnn
