#include "kernels/activation/sigmoid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/random_extents.h"

namespace topdnn {
namespace {

constexpr float kInfiniteBeta = std::numeric_limits<float>::infinity();

TEST(SigmoidOpTest, WorkAndProblems) {
  const SigmoidOp smooth(Shape{2, 3, 4, 5});
  EXPECT_EQ(smooth.WorkOf(Pass::kForward, DataType::kF32).flops, 3 * 120);
  EXPECT_EQ(smooth.WorkOf(Pass::kForward, DataType::kF32).bytes, 120 * 4 * 2);
  EXPECT_EQ(smooth.WorkOf(Pass::kBackwardData, DataType::kBF16).bytes, 120 * 2 * 3);
  EXPECT_FALSE(smooth.Has({Pass::kBackwardWeights}));
  const HardSigmoidOp hard(Shape{2, 3}, 0.25F, -0.5F);
  EXPECT_EQ(hard.Problem(), "2x3_alpha0.25_beta-0.5");
  EXPECT_EQ(hard.WorkOf(Pass::kForward, DataType::kF32).flops, 4 * 6);
  EXPECT_EQ(hard.WorkOf(Pass::kBackwardData, DataType::kF32).flops, 3 * 6);
  for (const char* problem :
       {"sigmoid/2x3x4x5", "hard_sigmoid/2x3_alpha0.25_beta-0.5", "hard_sigmoid/8_alpha1_beta0"}) {
    const auto op = ParseProblem(problem);
    EXPECT_EQ(std::string(op->kind()) + "/" + op->Problem(), problem);
  }
  EXPECT_EQ(ParseProblem("hard_sigmoid/8")->Problem(), "8_alpha0.2_beta0.5");
}

TEST(SigmoidOpTest, ImpossibleExtentsAndFactorsAreRefused) {
  EXPECT_THROW(SigmoidOp(Shape{2, 0}), std::invalid_argument);
  EXPECT_THROW(HardSigmoidOp(Shape{-1}), std::invalid_argument);
  EXPECT_THROW(HardSigmoidOp(Shape{2}, NAN, 0.0F), std::invalid_argument);
  EXPECT_THROW(HardSigmoidOp(Shape{2}, 1.0F, kInfiniteBeta), std::invalid_argument);
}

TEST(SigmoidReferenceTest, KnownValues) {
  KernelRun smooth("reference", RequestFor(std::make_shared<SigmoidOp>(Shape{3}), {}, 1));
  smooth.Set(Arg::kSrc, {0, std::log(3.0), -std::log(3.0)});
  smooth.Run();
  const std::vector<double> expected = {0.5, 0.75, 0.25};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(smooth.Get(Arg::kDst)[i], expected[i], 1e-7);

  const auto op = std::make_shared<HardSigmoidOp>(Shape{5}, 0.25F, 0.5F);
  KernelRun hard("reference", RequestFor(op, {}, 1));
  hard.Set(Arg::kSrc, {-3, -2, 0, 1, 7});
  hard.Run();
  EXPECT_EQ(hard.Get(Arg::kDst), (std::vector<double>{0, 0, 0.5, 0.75, 1}));
  KernelRun backward("reference", RequestFor(op, {Pass::kBackwardData}, 1));
  backward.Set(Arg::kDst, {0, 0.5, 0.75, 1, 0.25});
  backward.Set(Arg::kDiffDst, {4, 8, 12, 16, -4});
  backward.Run();
  EXPECT_EQ(backward.Get(Arg::kDiffSrc), (std::vector<double>{0, 2, 3, 0, -1}));
}

TEST(SigmoidReferenceTest, GradientsAgreeWithFiniteDifferences) {
  CheckGradient(std::make_shared<SigmoidOp>(Shape{2, 3, 5, 4}), Arg::kSrc, 1);
  CheckGradient(std::make_shared<HardSigmoidOp>(Shape{2, 3, 5, 4}, 0.75F, 0.5F), Arg::kSrc, 1);
}

class SigmoidBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(SigmoidBackendTest, RandomShapesAgreeWithTheReference) {
  Random random(72);
  for (int i = 0; i < 60; ++i) {
    const bool image = i % 4 != 0;
    Shape shape = image ? Shape{random.UpTo(3), random.UpTo(40), random.UpTo(9), random.UpTo(9)}
                        : Shape{random.UpTo(9), random.UpTo(99)};
    if (i == 59) shape = Shape{2, 17, 40, 40};
    const std::shared_ptr<const Op> ops[] = {std::make_shared<SigmoidOp>(shape),
                                             std::make_shared<HardSigmoidOp>(shape),
                                             std::make_shared<HardSigmoidOp>(shape, 0.75F, 0.5F)};
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      KernelRequest request = RequestFor(ops[i % 3], {pass, i % 4 < 2}, 1 + i % 2);
      const Arg leading = pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst;
      if (GetParam() == "onednn") {
        if (i % 5 == 4 && OneDnnHasBf16()) request.execution.type = DataType::kBF16;
        if (image && i % 4 == 1) request.layouts[leading] = *Layout::Parse("aBcd16b");
      }
      if (GetParam() != "native" && GetParam() != "reference" && image && i % 4 == 2) {
        request.layouts[leading] = Layout::ChannelsLast(4);
      }
      EXPECT_EQ(CheckAgainstReference(GetParam(), request, 7 * i), Verdict::kAgrees);
    }
  }
}

// Three channels in a block of 16: the other 13 are zeros, which a function of them must not
// change.
TEST(SigmoidEigenTest, PaddingStaysZero) {
  const auto kernel_of = [](const char* problem, Pass pass) {
    KernelRequest request = RequestFor(ParseProblem(problem), {pass}, 1);
    request.layouts[pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst] = *Layout::Parse("aBcd16b");
    return std::make_unique<KernelRun>("eigen", request);
  };
  for (const char* problem : {"sigmoid/1x3x2x2", "hard_sigmoid/1x3x2x2_alpha0.2_beta0.5",
                              "clip/1x3x2x2_min0.5_max0.75"}) {
    EXPECT_NE(kernel_of(problem, Pass::kForward)->refusal().find("padding"), std::string::npos)
        << problem;
  }
  for (const auto& [problem, pass] :
       {std::pair{"clip/1x3x2x2_min-0.5_max0.5", Pass::kForward},
        std::pair{"relu/1x3x2x2", Pass::kForward},
        std::pair{"sigmoid/1x3x2x2", Pass::kBackwardData},
        std::pair{"hard_sigmoid/1x3x2x2_alpha0.2_beta0.5", Pass::kBackwardData}}) {
    const auto run = kernel_of(problem, pass);
    ASSERT_NE(run->kernel(), nullptr) << problem << ": " << run->refusal();
    for (const Arg arg : {Arg::kSrc, Arg::kDst, Arg::kDiffDst}) {
      const KernelOperand* operand = run->kernel()->Find(arg);
      if (operand == nullptr || operand->direction == Direction::kOut) continue;
      std::memset(run->memory(arg).data(), 0, run->memory(arg).bytes());
      run->Set(arg, std::vector<double>(12, 0.25));
    }
    run->Run();
    const Arg result = pass == Pass::kForward ? Arg::kDst : Arg::kDiffSrc;
    const auto* values = reinterpret_cast<const float*>(run->memory(result).data());
    for (int i = 0; i < 4 * 16; ++i) EXPECT_EQ(values[i] == 0, i % 16 >= 3) << problem << i;
  }
}

TEST_P(SigmoidBackendTest, LargeInputsGiveZeroAndOne) {
  const std::vector<double> src = {-HUGE_VAL, HUGE_VAL, -200, 200, 0, -30, 30, 1};
  for (const std::shared_ptr<const Op>& op :
       {std::shared_ptr<const Op>(std::make_shared<SigmoidOp>(Shape{8})),
        std::shared_ptr<const Op>(std::make_shared<HardSigmoidOp>(Shape{8}))}) {
    KernelRun run(GetParam(), RequestFor(op, {}, 1));
    run.Set(Arg::kSrc, src);
    run.Run();
    const std::vector<double> dst = run.Get(Arg::kDst);
    for (std::size_t i = 0; i < src.size(); ++i) {
      const double expected = op->kind() == "sigmoid" ? 1 / (1 + std::exp(-src[i]))
                                                      : std::clamp(0.2 * src[i] + 0.5, 0.0, 1.0);
      EXPECT_NEAR(dst[i], expected, 1e-6) << op->kind() << " of " << src[i];
    }
  }
}

TEST_P(SigmoidBackendTest, NanTouchesNoOtherElement) {
  std::vector<double> values(40, 0.5);
  values[3] = NAN;
  for (const std::shared_ptr<const Op>& op :
       {std::shared_ptr<const Op>(std::make_shared<SigmoidOp>(Shape{40})),
        std::shared_ptr<const Op>(std::make_shared<HardSigmoidOp>(Shape{40}))}) {
    KernelRun forward(GetParam(), RequestFor(op, {}, 1));
    forward.Set(Arg::kSrc, values);
    forward.Run();
    const std::vector<double> dst = forward.Get(Arg::kDst);
    EXPECT_TRUE(std::isnan(dst[3]) ||
                (GetParam() == "onednn" && op->kind() == "hard_sigmoid" && dst[3] == 0))
        << op->kind() << ": " << dst[3];
    for (std::size_t i = 0; i < dst.size(); ++i) {
      EXPECT_TRUE(i == 3 || std::abs(dst[i] - dst[0]) < 1e-6) << i;
    }
    CheckAgainstReference(
        GetParam(), RequestFor(op, {Pass::kBackwardData}, 1), 5,
        {.inputs = {{Arg::kDiffDst, values}, {Arg::kDst, std::vector<double>(40, 0.5)}}});
  }
}

TEST_P(SigmoidBackendTest, RunsInPlace) {
  const auto run_over = [&](const std::shared_ptr<const Op>& op, Pass pass, Arg result,
                            Arg source) {
    const KernelRequest request = RequestFor(op, {pass}, 2);
    const Values inputs = RandomInputs(*op, request.execution, 3);
    KernelRun separate(GetParam(), request);
    separate.SetInputs(inputs);
    separate.Run();
    KernelRun in_place(GetParam(), request);
    in_place.SetInputs(inputs);
    in_place.Alias(result, source);
    in_place.Run();
    EXPECT_EQ(in_place.Get(source), separate.Get(result)) << op->kind() << " " << NameOf(pass);
  };
  for (const std::shared_ptr<const Op>& op :
       {std::shared_ptr<const Op>(std::make_shared<SigmoidOp>(Shape{4, 33})),
        std::shared_ptr<const Op>(std::make_shared<HardSigmoidOp>(Shape{4, 33}))}) {
    run_over(op, Pass::kForward, Arg::kDst, Arg::kSrc);
    run_over(op, Pass::kBackwardData, Arg::kDiffSrc, Arg::kDiffDst);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, SigmoidBackendTest,
                         testing::Values("reference", "onednn", "native", "eigen", "eigen-sgemm"));

}  // namespace
}  // namespace topdnn
