// Runs the fuzz target for some seconds, starting from a corpus of exported networks.
// TOPDNN_FUZZ_SECONDS sets the duration: 600 before a release.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/run_fuzzer.h"
#include "tests/networks/onnx/sample_graphs.h"

namespace topdnn {
namespace {

// Long enough to execute each exported network and some thousands of mutants of it. Long runs,
// which search for new findings, are started by hand.
constexpr const char* kSecondsOnnx = "15";

TEST(OnnxFuzzTest, FindsNothingFromExportedNetworks) {
  RunFuzzer("onnx_fuzzer", kSecondsOnnx, 16384, [](const std::filesystem::path& corpus) {
    int number = 0;
    for (const std::string& model : SampleModels()) {
      std::ofstream(corpus / fmt::format("{}.onnx", number++), std::ios::binary) << model;
    }
  });
}

}  // namespace
}  // namespace topdnn
