// Runs the fuzz target of oneDNN's log for some seconds, starting from the real logs of the tests.
// TOPDNN_FUZZ_SECONDS sets the duration: 600 before a release.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/run_fuzzer.h"

namespace topdnn {
namespace {

constexpr const char* kSecondsVerboseLog = "5";

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
  RunFuzzer("verbose_log_fuzzer", kSecondsVerboseLog, 8192,
            [](const std::filesystem::path& corpus) {
              for (const auto& log :
                   std::filesystem::directory_iterator(TOPDNN_SOURCE_DIR "/tests/bench/traces")) {
                WritePieces(log.path(), corpus);
              }
            });
}

}  // namespace
}  // namespace topdnn
