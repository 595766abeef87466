#include "tests/fuzz/run_fuzzer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {

void RunFuzzer(const std::string& name, const std::string& seconds, int most_bytes,
               const std::function<void(const std::filesystem::path& corpus)>& write_corpus) {
  const std::filesystem::path fuzzer =
      std::filesystem::path(TOPDNN_BINARY_DIR) / "tests/fuzz" / name;
  if (!std::filesystem::exists(fuzzer)) {
    GTEST_SKIP()
        << "the fuzzer is not built: it needs clang and libclang-rt-14-dev, and a build without "
           "g++'s sanitizers";
  }
  const TestFolder folder;
  const std::filesystem::path corpus = folder.path() / "corpus";
  std::filesystem::create_directory(corpus);
  write_corpus(corpus);
  const char* const set_seconds = std::getenv("TOPDNN_FUZZ_SECONDS");
  const Outcome outcome = RunShell(fmt::format(
      "cd {} && {} -seed=1 -max_total_time={} -timeout=10 -rss_limit_mb=2048 -max_len={} "
      "-print_final_stats=1 corpus 2>&1 | tail -n 60",
      Quoted(folder.path().string()), Quoted(fuzzer.string()),
      set_seconds == nullptr ? seconds : set_seconds, most_bytes));
  EXPECT_NE(outcome.output.find("stat::number_of_executed_units"), std::string::npos)
      << outcome.output;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string found = entry.path().filename().string();
    EXPECT_EQ(found, "corpus") << "a finding:\n" << outcome.output;
  }
  const std::size_t at = outcome.output.find("stat::number_of_executed_units");
  if (at != std::string::npos) std::cout << outcome.output.substr(at);
}

}  // namespace topdnn
