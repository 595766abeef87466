// Runs each fuzz target for some seconds, from its kept corpus (corpus/TARGET) and inputs that this
// file makes. TOPDNN_FUZZ_SECONDS sets the duration of each target: 600 before a release.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <ostream>
#include <string>

#include "tests/networks/onnx/sample_graphs.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;

// One line of each driver, in both dialects.
constexpr const char* kBenchdnnLines[] = {
    "--conv --dir=FWD_I,BWD_D --cfg=f32,u8s8s32 --stag=nhwc --attr=post_ops='sum;relu' "
    "--alg=WINO mb1g2ic4oc4_ih5oh5kh3sh1dh0ph1_iw5n\"a:b\"",
    "--conv --dt=bf16:f32:bf16 --bia-dt=f32 --wtag=ABcd16b16a --mb=0,2 ic3id8od4kd3pd1sd2 "
    "ic20oc32_iw13kw1pw0",
    "--ip --attr-post-ops=,relu,clip:0:6+sum:0.5 ic4ih2oc8 --reset --match=.*oc8 ic4oc8",
    "--matmul --wtag=ba --bia_dt=undef --runtime_dims_masks=0:0 10x30:30x20 2x3x4:2x4x5",
    "--pool --alg=max,avg_np --tag=aBx8b ic8ih9kh3sh2ph1",
    "--bnorm --flags=CH,GSR ic8ih3\n--lrn --alg=WITHIN ic8ih3ls3alpha1e-4beta0.5k2",
    "--eltwise --alg=relu,clip_v2_dst --alpha=0.5 --beta=1 2x3",
    "--softmax --axis=1 2x3\n--reorder --sdt=f32 --ddt=bf16 --dtag=OIhw4i16o4i 8x8x3x3",
    "--sum --sdt=f32:f32:f32 --scales=1 2x3\n--binary --alg=ADD 2x3x4:1x3 # comment",
    "--concat --axis=0 --stag=ab:ba 2x3:2x3\n--reduction --alg=mean 2x3x4:2x3x1",
    "--resampling ic2ih3oh6 --deconv ic3oc4ih3kh2 --batch=shapes \\\n"};

void WriteBenchdnnLines(const fs::path& corpus) {
  int i = 0;
  for (const char* const line : kBenchdnnLines) std::ofstream(corpus / std::to_string(i++)) << line;
}

// In pieces that libFuzzer's length limit does not cut.
void WriteRealLogs(const fs::path& corpus) {
  constexpr std::size_t kBytes = 4000;
  for (const auto& log : fs::directory_iterator(TOPDNN_SOURCE_DIR "/tests/bench/traces")) {
    std::ifstream file(log.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(text.empty()) << log;
    for (std::size_t at = 0; at < text.size(); at += kBytes) {
      std::ofstream(corpus / fmt::format("{}-{}", log.path().stem().string(), at), std::ios::binary)
          << text.substr(at, kBytes);
    }
  }
}

void WriteExportedNetworks(const fs::path& corpus) {
  int i = 0;
  for (const std::string& model : SampleModels()) {
    std::ofstream(corpus / fmt::format("{}.onnx", i++), std::ios::binary) << model;
  }
}

struct Target {
  const char* name;
  const char* program = "readers_fuzzer";
  int seconds = 1;
  int most_bytes = 8192;
  void (*write_more)(const fs::path& corpus) = nullptr;
  int most_runs = 1000;  // (with these, all targets together take about 30 s)
};

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

class FuzzTest : public testing::TestWithParam<Target> {};

TEST_P(FuzzTest, FindsNothing) {
  const Target& target = GetParam();
  const fs::path fuzzer = fs::path(TOPDNN_BINARY_DIR) / "tests/fuzz" / target.program;
  ASSERT_TRUE(fs::exists(fuzzer)) << fuzzer;
  const TestFolder folder;
  const fs::path corpus = folder.path() / "corpus";
  const fs::path findings = folder.path() / "findings";
  fs::create_directory(corpus);
  fs::create_directory(findings);
  const fs::path kept = fs::path(TOPDNN_SOURCE_DIR "/tests/fuzz/corpus") / target.name;
  if (fs::exists(kept)) fs::copy(kept, corpus);
  if (target.write_more != nullptr) target.write_more(corpus);
  ASSERT_FALSE(fs::is_empty(corpus));
  const char* const set_seconds = std::getenv("TOPDNN_FUZZ_SECONDS");
  // (what the readers print about each refused input would hide the report)
  const Outcome outcome = RunShell(
      fmt::format("cd {} && TOPDNN_FUZZ_READER={} {} -seed=1 -max_total_time={} -timeout=10 "
                  "-rss_limit_mb=2048 -max_len={} -runs={} -print_final_stats=1 -close_fd_mask=2 "
                  "-artifact_prefix=findings/ corpus 2>&1 | tail -n 60",
                  Quoted(folder.path().string()), target.name, Quoted(fuzzer.string()),
                  set_seconds == nullptr ? std::to_string(target.seconds) : set_seconds,
                  target.most_bytes, set_seconds == nullptr ? target.most_runs : -1));
  const std::size_t at = outcome.output.find("stat::number_of_executed_units");
  EXPECT_NE(at, std::string::npos) << outcome.output;
  EXPECT_TRUE(fs::is_empty(findings)) << "a finding:\n" << outcome.output;
  if (at != std::string::npos) std::cout << outcome.output.substr(at);
}

INSTANTIATE_TEST_SUITE_P(
    Readers, FuzzTest,
    testing::Values(Target{"onnx", "onnx_fuzzer", 4, 16384, WriteExportedNetworks, -1},
                    Target{"benchdnn", "benchdnn_fuzzer", 1, 1024, WriteBenchdnnLines, -1},
                    Target{"verbose_log", "verbose_log_fuzzer", 1, 8192, WriteRealLogs, -1},
                    Target{"events"}, Target{"npy"}, Target{"npz"}, Target{"safetensors"},
                    Target{"recording"}, Target{"result"}, Target{"compare"}, Target{"exact"},
                    Target{"caches"}, Target{"jobs"}, Target{"speeds"}, Target{"power"},
                    Target{"message"}, Target{"arguments"}, Target{"word"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace topdnn
