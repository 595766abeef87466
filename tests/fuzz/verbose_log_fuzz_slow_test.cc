// Runs the fuzz target of oneDNN's log for some seconds, starting from the real logs of the tests.
// TOPDNN_FUZZ_SECONDS sets the duration: 600 before a release.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

constexpr const char* kDefaultSeconds = "5";

// Writes the log in pieces that libFuzzer's length limit does not cut.
void WritePieces(const std::filesystem::path& log, const std::filesystem::path& corpus) {
  constexpr std::size_t kBytes = 4000;
  std::ifstream file(log, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(text.empty()) << log;
  for (std::size_t at = 0; at < text.size(); at += kBytes) {
    std::ofstream(corpus / fmt::format("{}-{}", log.stem().string(), at), std::ios::binary)
        << text.substr(at, kBytes);
  }
}

TEST(VerboseLogFuzzTest, FindsNothingFromRealLogs) {
  const std::filesystem::path fuzzer = TOPDNN_BINARY_DIR "/tests/fuzz/verbose_log_fuzzer";
  if (!std::filesystem::exists(fuzzer)) {
    GTEST_SKIP()
        << "the fuzzer is not built: it needs clang and libclang-rt-14-dev, and a build without "
           "g++'s sanitizers";
  }
  const TestFolder folder;
  const std::filesystem::path corpus = folder.path() / "corpus";
  std::filesystem::create_directory(corpus);
  for (const auto& log :
       std::filesystem::directory_iterator(TOPDNN_SOURCE_DIR "/tests/bench/traces")) {
    WritePieces(log.path(), corpus);
  }
  const char* seconds = std::getenv("TOPDNN_FUZZ_SECONDS");
  const Outcome outcome = RunShell(fmt::format(
      "cd {} && {} -seed=1 -max_total_time={} -timeout=10 -rss_limit_mb=2048 -max_len=8192 "
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
