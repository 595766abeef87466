// oneDNN's convolution with layouts, types and algorithms that are not the default.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/conv/conv.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

ConvExtents Layer(std::int64_t c, std::int64_t k, std::int64_t image, std::int64_t kernel,
                  std::int64_t groups = 1) {
  const std::int64_t pad = kernel / 2;
  return {.n = 2,
          .c = c,
          .h = image,
          .w = image,
          .k = k,
          .r = kernel,
          .s = kernel,
          .pad_top = pad,
          .pad_left = pad,
          .pad_bottom = pad,
          .pad_right = pad,
          .groups = groups};
}

KernelRequest WithActivations(const std::shared_ptr<const Op>& op, const Execution& execution,
                              const std::string& tag) {
  KernelRequest request = RequestFor(op, execution, 2);
  for (const Arg arg : {Arg::kSrc, Arg::kDst, Arg::kDiffSrc, Arg::kDiffDst}) {
    request.layouts[arg] = *Layout::Parse(tag);
  }
  return request;
}

TEST(ConvOneDnnTest, EveryLayoutAgreesWithTheReference) {
  const auto op = std::make_shared<ConvOp>(Layer(32, 48, 10, 3));
  for (const std::string tag : {"abcd", "acdb", "aBcd8b", "aBcd16b"}) {
    int ran = 0;
    for (const Pass pass : kAllPasses) {
      CheckOptions options;
      options.may_refuse = tag.size() > 4;  // the block width depends on the ISA
      const auto verdict =
          CheckAgainstReference("onednn", WithActivations(op, {pass}, tag), 3, options);
      EXPECT_NE(verdict, Verdict::kDiffers);
      ran += verdict == Verdict::kAgrees ? 1 : 0;
    }
    if (tag.size() == 4) {
      EXPECT_EQ(ran, 3) << tag;
    }
  }
}

TEST(ConvOneDnnTest, ScratchMemoryMayComeFromTheCaller) {
  const auto op = std::make_shared<ConvOp>(Layer(32, 32, 12, 3));
  KernelRequest request = RequestFor(op, {Pass::kForward}, 2);
  request.algorithm = "winograd";
  KernelOrRefusal offer = MakeKernel("onednn", request);
  if (const auto* refusal = std::get_if<Refusal>(&offer)) GTEST_SKIP() << refusal->reason;
  auto& kernel = *std::get<std::unique_ptr<Kernel>>(offer);
  ASSERT_GT(kernel.run_scratch_bytes(), 0U);
  std::map<Arg, Tensor> tensors;
  std::map<Arg, void*> memory;
  for (const KernelOperand& operand : kernel.operands()) {
    const Tensor& tensor = tensors[operand.arg] = Tensor(operand.desc);
    if (operand.direction == Direction::kIn) {
      std::fill_n(tensor.as<float>(), operand.desc.bytes() / sizeof(float), 0.5F);
    }
    memory[operand.arg] = tensor.data();
  }
  const auto result = [&] {
    kernel.Prepare(memory);
    kernel.Run();
    return ToDouble(tensors[Arg::kDst].desc(), tensors[Arg::kDst].data());
  };
  const std::vector<double> with_its_own = result();
  const AlignedMemory scratch(kernel.run_scratch_bytes());
  memory[Arg::kScratch] = scratch.data();
  EXPECT_EQ(result(), with_its_own);
  EXPECT_TRUE(std::any_of(scratch.data(), scratch.data() + scratch.bytes(),
                          [](std::byte byte) { return byte != std::byte{0}; }));
}

TEST(ConvOneDnnTest, Bf16AgreesWithTheReference) {
  int ran = 0;
  for (const auto& e : {Layer(32, 32, 9, 3), Layer(3, 17, 12, 5), Layer(64, 32, 7, 1)}) {
    for (const std::string tag : {"abcd", "acdb"}) {
      for (const Pass pass : kAllPasses) {
        CheckOptions options;
        options.may_refuse = true;
        const auto verdict = CheckAgainstReference(
            "onednn",
            WithActivations(std::make_shared<ConvOp>(e), {pass, true, DataType::kBF16}, tag), 4,
            options);
        EXPECT_NE(verdict, Verdict::kDiffers);
        ran += verdict == Verdict::kAgrees ? 1 : 0;
      }
    }
  }
  if (ran == 0) GTEST_SKIP() << "oneDNN has no bf16 convolution on this CPU";
}

// The sum of 259 ones. bf16 has eight bits: 259 lies between 129 * 2 and 130 * 2, and is rounded to
// the even multiple, 260. Sums in bf16 would stop at 256.
TEST(ConvOneDnnTest, ANarrowGradientIsRoundedOnce) {
  for (const bool narrow : {false, true}) {
    const auto op = std::make_shared<ConvOp>(ConvExtents{.n = 1, .c = 16, .h = 7, .w = 37, .k = 16},
                                             ConvEpilogue{.bias = true, .narrow = narrow});
    KernelOrRefusal offer =
        MakeKernel("onednn", RequestFor(op, {Pass::kBackwardWeights, true, DataType::kBF16}, 2));
    if (std::holds_alternative<Refusal>(offer)) {
      GTEST_SKIP() << "oneDNN has no bf16 convolution on this CPU";
    }
    auto& kernel = *std::get<std::unique_ptr<Kernel>>(offer);
    std::map<Arg, Tensor> tensors;
    std::map<Arg, void*> memory;
    for (const KernelOperand& operand : kernel.operands()) {
      const Tensor& tensor = tensors[operand.arg] = Tensor(operand.desc);
      const std::vector<double> ones(static_cast<std::size_t>(operand.desc.shape.elements()), 1.0);
      FromDouble(ones, operand.desc, tensor.data());
      memory[operand.arg] = tensor.data();
    }
    kernel.Prepare(memory);
    kernel.Run();
    for (const Arg arg : {Arg(Arg::kDiffWeights), Arg(Arg::kDiffBias)}) {
      const TensorDesc& desc = kernel.Find(arg)->desc;
      EXPECT_EQ(desc.type, narrow ? DataType::kBF16 : DataType::kF32);
      for (const double value : ToDouble(desc, tensors.at(arg).data())) {
        ASSERT_EQ(value, narrow ? 260 : 259) << NameOf(arg);
      }
    }
  }
}

TEST(ConvOneDnnTest, NarrowParametersAgreeWithTheReference) {
  const auto op = std::make_shared<ConvOp>(Layer(32, 48, 10, 3), ConvEpilogue{.narrow = true});
  int ran = 0;
  for (const std::string algorithm : {"", "in-f32"}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackwardWeights}) {
      KernelRequest request = RequestFor(op, {pass, true, DataType::kBF16}, 2);
      request.algorithm = algorithm;
      CheckOptions options;
      options.may_refuse = true;
      const Verdict verdict = CheckAgainstReference("onednn", request, 4, options);
      EXPECT_NE(verdict, Verdict::kDiffers) << algorithm;
      ran += verdict == Verdict::kAgrees ? 1 : 0;
    }
  }
  EXPECT_EQ(ran, OneDnnHasBf16() ? 4 : 2);  // in-f32 needs no bf16
}

TEST(ConvOneDnnTest, Int8IsExact) {
  int ran = 0;
  for (const DataType type : {DataType::kS8, DataType::kU8}) {
    for (const auto& e : {Layer(32, 32, 9, 3), Layer(16, 48, 8, 1), Layer(32, 32, 8, 3, 2)}) {
      for (const auto& [relu, bound] : {std::pair(false, 0.0F), {true, 0.0F}, {true, 40.0F}}) {
        const auto op = std::make_shared<ConvOp>(
            e, ConvEpilogue{.bias = true, .sum = false, .relu = relu, .bound = bound});
        EXPECT_FALSE(op->Has({Pass::kBackwardData, true, type}));
        KernelRequest request = RequestFor(op, {Pass::kForward, false, type}, 2);
        CheckOptions options;
        options.may_refuse = true;
        options.slack = 0;  // sums of whole numbers
        const auto verdict = CheckAgainstReference("onednn", request, 5, options);
        EXPECT_NE(verdict, Verdict::kDiffers);
        ran += verdict == Verdict::kAgrees ? 1 : 0;
      }
    }
  }
  if (ran == 0) GTEST_SKIP() << "oneDNN has no int8 convolution on this CPU";
}

// Winograd's transforms lose about two decimal digits (Lavin and Gray 2016, "Fast Algorithms for
// Convolutional Neural Networks", section 5.2; F(4x4, 3x3)).
TEST(ConvOneDnnTest, WinogradAgreesWithinItsAccuracy) {
  const auto op = std::make_shared<ConvOp>(Layer(64, 64, 28, 3));
  int ran = 0;
  for (const Pass pass : kAllPasses) {
    KernelRequest request = RequestFor(op, {pass}, 2);
    request.algorithm = "winograd";
    CheckOptions options;
    options.may_refuse = true;
    options.slack = 16;
    std::string implementation;
    const auto verdict = CheckAgainstReference("onednn", request, 6, options, &implementation);
    EXPECT_NE(verdict, Verdict::kDiffers);
    if (verdict != Verdict::kAgrees) continue;
    ++ran;
    EXPECT_NE(implementation.find("wino"), std::string::npos) << implementation;
  }
  if (ran == 0) GTEST_SKIP() << "oneDNN has no Winograd convolution on this CPU";
}

TEST(ConvOneDnnTest, AnUnknownAlgorithmIsRefused) {
  KernelRequest request = RequestFor(std::make_shared<ConvOp>(Layer(8, 8, 8, 3)), {}, 1);
  request.algorithm = "fourier";
  EXPECT_NE(KernelRun("onednn", request).refusal().find("fourier"), std::string::npos);
}

}  // namespace
}  // namespace topdnn
