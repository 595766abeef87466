// Executed operations divided by defined operations, for cases in which the shapes determine the
// ratio: the operations that kernels skip, and those that they add.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "harness/exact/counter.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/problem.h"
#include "tests/process/child_process.h"

namespace topdnn {
namespace {

struct Row {
  const char* name;
  const char* variant;
  const char* problem;
  double low, high;  // executed over defined
};

// A 3x3 kernel on 56 x 56 outputs has 168 x 168 taps; 166 x 166 of them read the image.
constexpr double kInside = 166.0 * 166.0 / (168.0 * 168.0);
constexpr Row kRows[] = {
    {"no_padding", "onednn", "conv/n1c32h28w28k32r3s3u1v1p0q0", 1, 1.0001},
    {"padding_left_out", "onednn", "conv/n1c32h56w56k32r3s3u1v1p1q1", kInside, kInside + 0.0001},
    // Output channels are padded to a block of 8 (AVX2) or 16 (AVX-512): 17 to 24 or to 32.
    {"odd_channels", "onednn", "conv/n1c20h28w28k17r3s3u1v1p0q0", 24.0 / 17, 32.0 / 17 + 0.0001},
    // F(4x4, 3x3) needs 36 multiplications instead of 16 x 9, plus the transforms.
    {"winograd", "onednn-winograd", "conv/n1c64h56w56k64r3s3u1v1p1q1", 0.25, 0.6},
    // For each panel of k, each element of the result is scaled and added: 2 operations beside the
    // 2 * 256 defined. OpenBLAS's cores have panels of at least 128 of f32 (128 for Prescott, which
    // 0.3.21 chooses for models that it does not know).
    {"whole_blocks", "openblas", "gemm/m256n256k256", 1, 1 + 2.0 / 256 + 0.0001},
    {"edges", "openblas", "gemm/m500n500k500", 1, 1.01},
    {"whole_blocks_of_eigen", "eigen", "gemm/m256n256k256", 1, 1.005},
    {"edges_of_eigen", "eigen", "gemm/m500n500k500", 1, 1.01},
};

class ExactTable : public testing::TestWithParam<Row> {};

TEST_P(ExactTable, RatioFollowsFromTheShapes) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  const auto variant = FindVariant(GetParam().variant);
  if (!variant) GTEST_SKIP() << "there is no " << GetParam().variant;
  const KernelProblem problem(ParseProblem(GetParam().problem),
                              {Pass::kForward, false, DataType::kF32});
  auto made = KernelCase::Make(*variant, problem, 1);
  if (const auto* refusal = std::get_if<Refusal>(&made)) GTEST_SKIP() << refusal->reason;
  const auto& kernel = std::get<std::unique_ptr<KernelCase>>(made);
  const ThreadWidth width(1);
  auto region = [&] { kernel->Run(); };
  region();
  ExactCounts counts = ExactCounter::Count(region);
  // Threads of earlier tests in this process may still run for a moment.
  for (int i = 0; i < 20 && !counts.complete; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    counts = ExactCounter::Count(region);
  }
  ASSERT_TRUE(counts.complete) << counts.incomplete_reason;
  const auto defined = static_cast<double>(
      ParseProblem(GetParam().problem)->WorkOf(Pass::kForward, DataType::kF32).flops);
  const double ratio = static_cast<double>(counts.flops()) / defined;
  RecordProperty("executed_over_defined", std::to_string(ratio));
  EXPECT_GE(ratio, GetParam().low);
  EXPECT_LE(ratio, GetParam().high);
}

INSTANTIATE_TEST_SUITE_P(Rows, ExactTable, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

// The exact counts of oneDNN's kernels, as the program prints them.
std::vector<double> CountsUnder(const std::string& launcher) {
  const std::string program = Quoted(TOPDNN_BINARY_DIR "/topdnn");
  const Outcome outcome =
      RunShell(launcher + program + " validate --kernels-of onednn --json - 2>/dev/null");
  std::vector<double> counts;
  const auto json = nlohmann::json::parse(outcome.output);
  for (const auto& row : json.at("cases")) {
    if (row.at("exact").is_number()) counts.push_back(row.at("exact").get<double>());
  }
  return counts;
}

TEST(ExactAddresses, TheAddressOfCodeChangesNoCount) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  if (RunShell("setarch -R true").exit_status != 0) {
    GTEST_SKIP() << "this system refuses to turn address randomization off";
  }
  const std::vector<double> anywhere = CountsUnder("");
  EXPECT_GE(anywhere.size(), 4U);
  EXPECT_EQ(CountsUnder(""), anywhere);
  EXPECT_EQ(CountsUnder("setarch -R "), anywhere);
}

}  // namespace
}  // namespace topdnn
