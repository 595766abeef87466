// Every loop of the backend `native` divides its work evenly among up to 64 threads, where it has
// ten rows or more for each. The threads' instructions are counted exactly, so two CPUs are enough.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "harness/exact/counter.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/problem.h"
#include "kernels/reorder/reorder.h"

namespace topdnn {
namespace {

// A problem of each kind, with at least 640 rows of what the loops divide.
constexpr const char* kProblems[] = {
    "conv/n64c16h28w28k16r3s3u1v1p1q1",
    "conv_transpose/16x40x128_to40_groups1_kernel2_stride2_dilation1_before0_after0",
    "conv_nd/"
    "16x40x8x14x14_to40_groups1_kernel1x1x1_stride1x1x1_dilation1x1x1_before0x0x0_after0x0x0",
    "pool/maxn64c16h16w16r3s3u2v2p1q1",
    "pool/averagen16c64h16w16r2s2u2v2p0q0",
    "pool_nd/max16x64x4x8x8_kernel3x3x3_stride2x2x2_dilation1x1x1_before1x1x1_after1x1x1",
    "relu/16x64x16x16",
    "bounded_relu/16x64x16x16_bound6",
    "clip/16x64x16x16_min-0.5_max0.5",
    "sigmoid/16x64x16x16",
    "hard_sigmoid/16x64x16x16_alpha0.2_beta0.5",
    "batchnorm/320x640x2x2",
    "layernorm/16x64x16x16",
    "lrn/16x64x16x16_size5",
    "softmax/n1024k100",
    "add/16x64x16x16_of2_relu",
    "concat/16x96x16x16_axis1_parts48x48",
    "bias/16x640x8x8",
    "flatten/16x64x32x32",
    "transpose/16x64x16x16_order0x2x3x1",
    "interpolate/nearest16x64x8x8_to16x64x16x16_scale1x1x2x2_asymmetric_floor",
    "interpolate/linear16x64x16x16_to16x64x32x32_scale1x1x2x2_half",
    "dropout/16x64x16x16_ratio0.5",
    "reduce/mean16x64x16x16_cd",
    "reduce/max16x64x16x16_cd",
    "unary/tanh16x64x16x16",
    "unary/leaky_relu16x64x16x16_alpha0.1",
    "binary/mul16x64x16x16_by16x64x1x1",
    "slice/640x32x16x16_start0x8x0x0_step1x1x1x1_extent640x16x16x16",
    "topk/1024x100_axis1_k5",
    "gather/8x1000x64_count1000",
    "reorder/16x64x32x32",
    "integer_steps/16x64x16x16_steps143_channels64",
    "quantize/16x64x16x16_types8_scale0.015625",
    "dequantize/16x64x16x16_typeu8_scale0.015625",
    "softmax_cross_entropy/n1024k100",
    "moving_average/n65536",
    "sgd/n65536_momentum0.9",
    "adam/n65536",
};

// (a reorder has no text)
std::shared_ptr<const Op> OpOf(const std::string& problem) {
  if (problem != "reorder/16x64x32x32") return ParseProblem(problem);
  return std::make_shared<ReorderOp>(Shape{16, 64, 32, 32}, DataType::kF32, DataType::kF32);
}

class DivisionOfWork : public testing::TestWithParam<const char*> {};

// Whether no thread has more than 1.1 times an even share and what it needs to find its share.
// (Long copies are few instructions: a `rep movsb` each.)
testing::AssertionResult IsEven(const std::vector<std::uint64_t>& instructions, int threads) {
  constexpr double kMost = 1.1, kToFindIt = 500;
  const auto sum = std::accumulate(instructions.begin(), instructions.end(), std::uint64_t{0});
  const auto most =
      static_cast<double>(*std::max_element(instructions.begin(), instructions.end()));
  const double even = static_cast<double>(sum) / threads;
  if (most <= kMost * even + kToFindIt) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "one thread executes " << most << ", an even share is " << even;
}

TEST_P(DivisionOfWork, EachThreadHasAnEvenShare) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  const std::shared_ptr<const Op> op = OpOf(GetParam());
  int counted = 0;
  for (const Pass pass : kAllPasses) {
    for (const DataType type : {DataType::kF32, DataType::kU8}) {
      const Execution execution{pass, type == DataType::kF32, type};
      if (!op->Has(execution)) continue;
      const KernelProblem problem(op, execution);
      for (const Variant& variant : Variants()) {
        // (Winograd's gradient by weights ends with a transformation for each two vectors of
        // outputs.)
        if (variant.backend != kNative ||
            (variant.name == "native-winograd" && pass == Pass::kBackwardWeights)) {
          continue;
        }
        for (const int threads : {3, 16, 64}) {
          auto made = KernelCase::Make(variant, problem, threads);
          if (std::holds_alternative<Refusal>(made)) continue;
          const auto& kernel = std::get<std::unique_ptr<KernelCase>>(made);
          const ThreadWidth width(threads);
          auto region = [&] { kernel->Run(); };
          region();
          const ExactCounts counts = ExactCounter::Count(region);
          ASSERT_TRUE(counts.complete) << counts.incomplete_reason;
          EXPECT_TRUE(IsEven(counts.thread_instructions, threads))
              << variant.name << " " << NameOf(pass) << " on " << threads << " threads";
          ++counted;
        }
      }
    }
  }
  EXPECT_GT(counted, 0);
}

// "pool_maxn16c64h16w16r3s3u2v2p1q1"
std::string NameOfProblem(const testing::TestParamInfo<const char*>& row) {
  std::string name = row.param;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Native, DivisionOfWork, testing::ValuesIn(kProblems), NameOfProblem);

// Every kind of operation that `native` computes has a problem above.
TEST(DivisionOfWorkTest, EachKindIsTried) {
  std::set<std::string> tried;
  for (const std::string problem : kProblems) tried.insert(problem.substr(0, problem.find('/')));
  for (const auto& [kind, backend] : RegisteredKernels()) {
    EXPECT_TRUE(backend != kNative || tried.contains(kind)) << kind;
  }
}

}  // namespace
}  // namespace topdnn
