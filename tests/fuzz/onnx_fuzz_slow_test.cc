// Runs the fuzz target for some seconds, starting from a corpus of exported networks.
// TOPDNN_FUZZ_SECONDS sets the duration: 600 before a release.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/networks/onnx/sample_graphs.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

// Long enough to execute each exported network and some thousands of mutants of it. Long runs,
// which search for new findings, are for people.
constexpr const char* kDefaultSeconds = "15";

TEST(OnnxFuzzTest, FindsNothingFromExportedNetworks) {
  const std::filesystem::path fuzzer = TOPDNN_BINARY_DIR "/tests/fuzz/onnx_fuzzer";
  if (!std::filesystem::exists(fuzzer)) {
    GTEST_SKIP()
        << "the fuzzer is not built: it needs clang and libclang-rt-14-dev, and a build without "
           "g++'s sanitizers";
  }
  const TestFolder folder;
  const std::filesystem::path corpus = folder.path() / "corpus";
  std::filesystem::create_directory(corpus);
  int number = 0;
  for (const std::string& model : SampleModels()) {
    std::ofstream(corpus / fmt::format("{}.onnx", number++), std::ios::binary) << model;
  }
  const char* seconds = std::getenv("TOPDNN_FUZZ_SECONDS");
  const Outcome outcome = RunShell(fmt::format(
      "cd {} && {} -seed=1 -max_total_time={} -timeout=10 -rss_limit_mb=2048 -max_len=16384 "
      "-print_final_stats=1 corpus 2>&1 | tail -n 60",
      Quoted(folder.path().string()), Quoted(fuzzer.string()),
      seconds == nullptr ? kDefaultSeconds : seconds));
  EXPECT_NE(outcome.output.find("stat::number_of_executed_units"), std::string::npos)
      << outcome.output;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(name, "corpus") << "a finding:\n" << outcome.output;
  }
  const std::size_t at = outcome.output.find("stat::number_of_executed_units");
  if (at != std::string::npos) std::cout << outcome.output.substr(at);
}

}  // namespace
}  // namespace topdnn
