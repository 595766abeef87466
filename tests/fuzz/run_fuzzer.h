// Runs a fuzz target for some seconds, from a corpus that the test writes.

#ifndef TOPDNN_TESTS_FUZZ_RUN_FUZZER_H_
#define TOPDNN_TESTS_FUZZ_RUN_FUZZER_H_

#include <filesystem>
#include <functional>
#include <string>

namespace topdnn {

// Fails the test if the fuzzer finds anything or does not run, and skips it if the fuzzer is not
// built. TOPDNN_FUZZ_SECONDS replaces `seconds`.
void RunFuzzer(const std::string& name, const std::string& seconds, int most_bytes,
               const std::function<void(const std::filesystem::path& corpus)>& write_corpus);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_FUZZ_RUN_FUZZER_H_
