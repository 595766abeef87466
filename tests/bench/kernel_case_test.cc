#include "bench/cases/kernel_case.h"

#include <gtest/gtest.h>

#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/problem.h"

namespace topdnn {
namespace {

std::unique_ptr<KernelCase> Make(const std::string& variant, const KernelProblem& problem) {
  auto made = KernelCase::Make(*FindVariant(variant), problem, 1);
  if (auto* refusal = std::get_if<Refusal>(&made)) {
    ADD_FAILURE() << refusal->reason;
    return nullptr;
  }
  return std::get<std::unique_ptr<KernelCase>>(std::move(made));
}

TEST(KernelCaseTest, AKernelIsCheckedOnItsOwnInputs) {
  for (const std::string text : {"conv/n1c16h8w8k16r3s3u1v1p1q1_bias_sum_relu",
                                 "pool/maxn1c16h8w8r2s2u2v2p0q0", "sgd/n100_momentum0.9"}) {
    for (const Pass pass : kAllPasses) {
      const Execution execution{pass, true, DataType::kF32};
      const auto op = ParseProblem(text);
      if (!op->Has(execution)) continue;
      const KernelProblem problem(op, execution);
      const auto kernel = Make(text.starts_with("sgd") ? "native" : "onednn", problem);
      ASSERT_NE(kernel, nullptr);
      const CaseCheck check = kernel->Check(problem);
      EXPECT_TRUE(check.agrees) << text << " " << NameOf(pass) << ": " << check.reason;
      EXPECT_EQ(check.tolerance > 0, op->AccumulationLength(pass) > 0);  // 0: exact
    }
  }
}

// A backward pass that recomputes reads the source and the result of the problem's forward pass.
TEST(KernelCaseTest, AVariantWithAndOneWithoutAWorkspaceAreChecked) {
  for (const std::string text : {"pool/maxn2c16h8w8r3s3u2v2p1q1", "lrn/2x16x3x3_size5"}) {
    const KernelProblem problem(ParseProblem(text), {Pass::kBackwardData, true, DataType::kF32});
    for (const std::string variant : {"eigen", "eigen-rows"}) {
      const auto kernel = Make(variant, problem);
      ASSERT_NE(kernel, nullptr);
      EXPECT_EQ(kernel->kernel().Find(Arg::kWorkspace) != nullptr, variant == "eigen-rows");
      const CaseCheck check = kernel->Check(problem);
      EXPECT_TRUE(check.agrees) << text << " " << variant << ": " << check.reason;
      const Execution execution = ExecutionOf(kernel->kernel(), *problem.op(), problem.execution());
      EXPECT_EQ(kernel->work().flops, problem.op()->WorkIn(execution).flops);
      EXPECT_EQ(kernel->work().bytes, problem.op()->WorkIn(execution).bytes);
    }
  }
}

// If the reference would take more than a second, only a sample of the elements is checked.
TEST(KernelCaseTest, ALargeResultIsCheckedAtSomeElements) {
  const KernelProblem problem(ParseProblem("gemm/m640n640k640"),
                              {Pass::kForward, true, DataType::kF32});
  ASSERT_EQ(problem.expected().size(), 1U);
  EXPECT_EQ(problem.expected().front().elements.size(), 512U);
  EXPECT_LT(problem.expected().front().elements.back(), 640 * 640);
  const auto kernel = Make("onednn", problem);
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->Check(problem).agrees);
}

TEST(KernelCaseTest, AWrongResultDoesNotAgree) {
  const KernelProblem problem(ParseProblem("gemm/m8n8k8"), {Pass::kForward, true, DataType::kF32});
  const KernelProblem other(ParseProblem("gemm/m8n8k8_alpha2"),
                            {Pass::kForward, true, DataType::kF32});
  const auto kernel = Make("onednn", problem);
  ASSERT_NE(kernel, nullptr);
  const CaseCheck check = kernel->Check(other);
  EXPECT_FALSE(check.agrees);
  EXPECT_NE(check.reason.find("dst differs"), std::string::npos);
}

// The reference computes in f64. A result of 8 bits saturates, and is rounded to a whole number.
// A normalized value is a difference of numbers that are much larger than it, here of two channels.
TEST(KernelCaseTest, TheRoundingOfANormalizationIsAllowed) {
  for (const std::string text : {"layernorm/256x2", "layernorm/2x2x5x7", "layernorm/16x2x8x8"}) {
    for (const char* variant : {"onednn", "native"}) {
      const KernelProblem problem(ParseProblem(text), {Pass::kForward, true, DataType::kF32});
      auto made = KernelCase::Make(*FindVariant(variant), problem, 1);
      if (std::holds_alternative<Refusal>(made)) continue;  // (oneDNN of four dimensions)
      const CaseCheck check = std::get<std::unique_ptr<KernelCase>>(made)->Check(problem);
      EXPECT_TRUE(check.agrees) << text << " " << variant << ": " << check.reason;
    }
  }
}

TEST(KernelCaseTest, AResultOf8BitsIsRoundedAndSaturates) {
  for (const std::string text :
       {"pool/averagen1c16h8w8r3s3u2v2p0q0", "hard_sigmoid/2x16x8x8", "batchnorm/2x16x8x8"}) {
    for (const DataType type : {DataType::kS8, DataType::kU8}) {
      const KernelProblem problem(ParseProblem(text), {Pass::kForward, false, type});
      auto made = KernelCase::Make(*FindVariant("onednn"), problem, 1);
      if (std::holds_alternative<Refusal>(made)) continue;  // (batchnorm in u8)
      const CaseCheck check = std::get<std::unique_ptr<KernelCase>>(made)->Check(problem);
      EXPECT_TRUE(check.agrees) << text << " " << NameOf(type) << ": " << check.reason;
    }
  }
  const Execution execution{Pass::kForward, false, DataType::kS8};
  const KernelProblem five(ParseProblem("bounded_relu/2x16x8x8_bound5"), execution);
  const KernelProblem six(ParseProblem("bounded_relu/2x16x8x8_bound6"), execution);
  const auto kernel = Make("onednn", five);
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->Check(five).agrees);
  EXPECT_FALSE(kernel->Check(six).agrees);
}

TEST(KernelCaseTest, SettledLayoutsAreKeptOrRefused) {
  const KernelProblem problem(ParseProblem("conv/n1c16h8w8k16r3s3u1v1p1q1"),
                              {Pass::kForward, true, DataType::kF32});
  KernelRequest request;
  request.op = problem.op();
  request.execution = problem.execution();
  request.layouts[Arg::kSrc] = *Layout::Parse("acdb");
  request.layouts[Arg::kDst] = *Layout::Parse("aBcd8b");
  const auto settled = KernelCase::Make("onednn", request, problem);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<KernelCase>>(settled));
  const auto& made = std::get<std::unique_ptr<KernelCase>>(settled);
  EXPECT_EQ(made->kernel().Find(Arg::kSrc)->desc.layout.tag(), "acdb");
  EXPECT_EQ(made->kernel().Find(Arg::kDst)->desc.layout.tag(), "aBcd8b");
  EXPECT_TRUE(made->Check(problem).agrees);
  // OpenBLAS computes row-major images only. The refusal is that of its kernel or of the layout.
  const auto refused = KernelCase::Make("openblas", request, problem);
  ASSERT_TRUE(std::holds_alternative<Refusal>(refused));
  EXPECT_FALSE(std::get<Refusal>(refused).reason.empty());
}

TEST(VariantTest, AVariantThatRequestsNothingDoesNotExist) {
  const auto nhwc = FindVariant("onednn-nhwc");
  ASSERT_TRUE(nhwc);
  const Execution forward{Pass::kForward, true, DataType::kF32};
  // A matrix product has no images, and Winograd is an algorithm of convolutions.
  EXPECT_FALSE(RequestOf(*nhwc, ParseProblem("gemm/m8n8k8"), forward, 1));
  EXPECT_FALSE(
      RequestOf(*FindVariant("onednn-winograd"), ParseProblem("relu/1x8x4x4"), forward, 1));
  const auto request = RequestOf(*nhwc, ParseProblem("conv/c8h4k8r1"), forward, 2);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->LayoutOf(Arg::kSrc).tag(), "acdb");
  EXPECT_TRUE(request->LayoutOf(Arg::kWeights).is_any());
  EXPECT_EQ(request->threads, 2);
  // OpenBLAS does not compute in bf16.
  EXPECT_FALSE(RequestOf(*FindVariant("openblas"), ParseProblem("gemm/m8n8k8"),
                         {Pass::kForward, true, DataType::kBF16}, 1));
}

TEST(RegistryTest, TensorsTooLargeForLibrariesAreRefused) {
  // C has 2^32 elements. Every library's kernel is refused before anything is allocated.
  const auto op = ParseProblem("gemm/m65536n65536k1");
  for (const Variant& variant : Variants()) {
    const auto request = RequestOf(variant, op, {Pass::kForward, true, DataType::kF32}, 1);
    if (!request || variant.backend == "reference" || variant.backend == "native") continue;
    const KernelOrRefusal answer = MakeKernel(variant.backend, *request);
    ASSERT_TRUE(std::holds_alternative<Refusal>(answer)) << variant.name;
    EXPECT_NE(std::get<Refusal>(answer).reason.find("2^31"), std::string::npos);
  }
}

}  // namespace
}  // namespace topdnn
