// Adding is one place: tests/outside/, copied to a folder outside the source tree, adds a kernel, a
// backend, a network, an ONNX operation, a CPU's Top-Down table, a counter source, a report, an
// experiment, a command and a data set. The program that is built there offers each of them.

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
  static void SetUpTestSuite() {
    std::filesystem::copy(TOPDNN_SOURCE_DIR "/tests/outside", folder().path() / "source");
    const std::string at = Quoted(folder().path().string());
    const Outcome built =
        RunShell("cd " + at +
                 " && cmake -G Ninja -S source -B build -DCMAKE_BUILD_TYPE=Release -Dtopdnn_DIR=" +
                 Quoted(TOPDNN_BINARY_DIR) + " && cmake --build build");
    built_ = built.exit_status == 0;
    EXPECT_TRUE(built_) << built.output;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder().path() / "build"); }

  void SetUp() override { ASSERT_TRUE(built_) << "tests/outside does not build (above)"; }

  // What the program prints for these arguments, in a folder with `outside.txt`.
  static std::string Run(const std::string& arguments) {
    const Outcome outcome = RunShell("cd " + Quoted(folder().path().string()) +
                                     " && touch outside.txt && build/topdnn_outside " + arguments);
    EXPECT_EQ(outcome.exit_status, 0) << arguments << "\n" << outcome.output;
    return outcome.output;
  }
  static std::string Read(const std::string& name) {
    std::ifstream file(folder().path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static const TestFolder& folder() {
    static const TestFolder folder;
    return folder;
  }

 private:
  static inline bool built_ = false;
};

TEST_F(OutsideTest, CommandTopdownTableDataSetAndOnnxOperation) {
  EXPECT_THAT(Run("--help"), HasSubstr("what was added outside the tree"));
  const std::string lists = Run("outside");
  EXPECT_THAT(lists, HasSubstr("table outside_cpu\n"));
  EXPECT_THAT(lists, HasSubstr("data set zero images\n"));
  EXPECT_THAT(lists, HasSubstr("onnx Outside\n"));
  EXPECT_THAT(lists, HasSubstr("onnx Conv\n"));  // beside those of the tree
}

TEST_F(OutsideTest, KernelAndBackend) {
  const std::string cases = Run("bench --problem negation/2x3x4x4 --benchmark_list_tests");
  EXPECT_THAT(cases, HasSubstr("negation/2x3x4x4/forward/reference/f32"));
  EXPECT_THAT(cases, HasSubstr("negation/2x3x4x4/forward/outside/f32"));
  // It runs only after it agrees with the reference.
  EXPECT_THAT(Run("bench --problem negation/2x3x4x4 --benchmark_filter=forward/outside/f32/t1/m "
                  "--threads 1 --benchmark_min_time=0.01"),
              HasSubstr("outside loop"));
}

TEST_F(OutsideTest, NetworkDataSetCounterSourceReportAndExperiment) {
  EXPECT_THAT(Run("networks"), HasSubstr("outside"));
  Run("profile outside --batch 2 --iterations 8 --threads 1 --data . --counters outside "
      "--outside stages.txt --json o.json --experiment outside");
  EXPECT_THAT(Read("stages.txt"), HasSubstr(" stages\n"));
  EXPECT_THAT(Read("o.json"), HasSubstr("\"outside/readings\": "));
  EXPECT_THAT(Read("o.json"), HasSubstr("zero images"));
  EXPECT_THAT(Read("o.json"), HasSubstr("stages, as an experiment"));
}

}  // namespace
}  // namespace topdnn
