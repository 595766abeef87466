#include "kernels/lrn/lrn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/kernel/variant.h"
#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// Sums of |terms| for diff_src, which is a difference: the direct term and those of the windows.
Values Magnitudes(const LrnOp& op, const Values& inputs) {
  const LrnSettings& s = op.settings();
  const auto at = [&](Arg arg, std::int64_t i) {
    return std::abs(inputs.at(arg)[static_cast<std::size_t>(i)]);
  };
  const std::int64_t image = op.image();
  const double alpha = static_cast<double>(s.alpha) / static_cast<double>(s.size);
  const auto beta = static_cast<double>(s.beta);
  const auto scale_at = [&](std::int64_t first, std::int64_t c) {
    double sum = 0;
    for (std::int64_t d = op.WindowOf(c).first; d < op.WindowOf(c).end; ++d) {
      sum += std::pow(at(Arg::kSrc, first + d * image), 2);
    }
    return static_cast<double>(s.k) + alpha * sum;
  };
  std::vector<double> magnitudes;
  for (std::int64_t i = 0; i < op.shape().elements(); ++i) {
    const std::int64_t c = i / image % op.channels();
    const std::int64_t first = i - c * image;
    double sum = 0;
    for (std::int64_t j = op.WindowsContaining(c).first; j < op.WindowsContaining(c).end; ++j) {
      const std::int64_t other = first + j * image;
      sum +=
          at(Arg::kDiffDst, other) * at(Arg::kSrc, other) * std::pow(scale_at(first, j), -beta - 1);
    }
    magnitudes.push_back(at(Arg::kDiffDst, i) * std::pow(scale_at(first, c), -beta) +
                         2 * alpha * std::abs(beta) * at(Arg::kSrc, i) * sum);
  }
  return {{Arg::kDiffSrc, magnitudes}};
}

Verdict CheckLrn(const std::string& backend, const KernelRequest& request, std::uint64_t seed,
                 CheckOptions options = {}) {
  const auto& op = dynamic_cast<const LrnOp&>(*request.op);
  if (request.execution.pass == Pass::kBackwardData) {
    options.magnitudes = Magnitudes(op, RandomInputs(op, request.execution, seed));
  }
  return CheckAgainstReference(backend, request, seed, options);
}

TEST(LrnOpTest, ImpossibleGeometryIsRefusedInOneLine) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const Shape shape{1, 3, 2, 2};
  const std::pair<Shape, LrnSettings> impossible[] = {
      {Shape{}, {}},
      {Shape{3}, {}},
      {Shape{1, 0, 2, 2}, {}},
      {Shape{1, 3, -2, 2}, {}},
      {Shape{kHuge, kHuge, kHuge}, {}},
      {shape, {.size = 0}},
      {shape, {.size = 1024}},
      {shape, {.alpha = -1}},
      {shape, {.alpha = NAN}},
      {shape, {.beta = HUGE_VALF}},
      {shape, {.k = 0}},
  };
  for (const auto& [extents, settings] : impossible) {
    try {
      const LrnOp op(extents, settings);
      ADD_FAILURE() << op.Problem();
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(LrnOpTest, ProblemsAreReadBack) {
  const LrnOp alexnet(Shape{8, 96, 55, 55}, {.alpha = 5e-4F, .k = 2});
  EXPECT_EQ(alexnet.Problem(), "8x96x55x55_size5_alpha0.0005_k2");
  const LrnOp small(Shape{8, 96}, {.size = 3, .beta = 0.5F});
  for (const LrnOp& op : {alexnet, small}) {
    EXPECT_EQ(ParseProblem("lrn/" + op.Problem())->Problem(), op.Problem());
  }
  for (const char* wrong : {"8x96_size2.5", "8x96_size0", "8x96_size1e30", "_size5"}) {
    EXPECT_THROW(ParseProblem(std::string("lrn/") + wrong), ProblemError) << wrong;
  }
}

TEST(LrnOpTest, WorkCountsChannelsOfWindows) {
  // Windows of 3 over 4 channels: 2 + 3 + 3 + 2. Windows of 4, which reach one further to the
  // right: 3 + 4 + 3 + 2.
  const LrnOp odd(Shape{2, 4, 3, 5}, {.size = 3});
  const Work forward = odd.WorkOf(Pass::kForward, DataType::kF32);
  EXPECT_EQ(forward.macs, 0);
  EXPECT_EQ(forward.flops, (2 * 3 + 4) * 120);
  EXPECT_EQ(forward.flops_without_padding, 2 * 10 * 30 + 4 * 120);
  EXPECT_EQ(forward.bytes, 4 * 3 * 120);
  const Work backward = odd.WorkOf(Pass::kBackwardData, DataType::kF32);
  EXPECT_EQ(backward.flops, (3 + 7) * 120);
  EXPECT_EQ(backward.flops_without_padding, 10 * 30 + 7 * 120);
  // Without a workspace, backward also computes the squares, their sum, and a product and a sum for
  // the scale. It reads src, dst and diff_dst.
  const Work again = odd.WorkIn(Recomputing({Pass::kBackwardData}));
  EXPECT_EQ(again.flops, (3 + 7 + 2 * 3 + 2) * 120);
  EXPECT_EQ(again.flops_without_padding, 10 * 30 + 7 * 120 + 2 * 10 * 30 + 2 * 120);
  EXPECT_EQ(again.bytes, 4 * 4 * 120);
  EXPECT_EQ(odd.WorkIn(Recomputing({Pass::kForward})).bytes, 4 * 2 * 120);
  const LrnOp even(Shape{2, 4, 3, 5}, {.size = 4});
  EXPECT_EQ(even.WorkOf(Pass::kBackwardData, DataType::kF32).flops_without_padding,
            12 * 30 + 7 * 120);
  EXPECT_FALSE(odd.Has({Pass::kBackwardWeights}));
  EXPECT_EQ(odd.AccumulationLength(Pass::kForward), 4);
}

// alpha / size = 1: scale of the middle channel is 1 + 1 + 4 + 9 = 15.
TEST(LrnKnownValuesTest, WindowsReachToBothSides) {
  for (const char* backend : {"reference", "onednn", "native", "eigen", "eigen-sgemm"}) {
    SCOPED_TRACE(backend);
    const auto op =
        std::make_shared<LrnOp>(Shape{1, 3, 1, 1}, LrnSettings{.size = 3, .alpha = 3, .beta = 1});
    KernelRun forward(backend, RequestFor(op, {Pass::kForward}, 1));
    ASSERT_NE(forward.kernel(), nullptr) << forward.refusal();
    forward.Set(Arg::kSrc, {1, 2, 3});
    forward.Run();
    const std::vector<double> dst = forward.Get(Arg::kDst);
    const double expected[] = {1.0 / 6, 2.0 / 15, 3.0 / 14};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(dst[i], expected[i], 1e-6) << i;

    KernelRun backward(backend, RequestFor(op, {Pass::kBackwardData}, 1));
    ASSERT_NE(backward.kernel(), nullptr) << backward.refusal();
    backward.Set(Arg::kSrc, {1, 2, 3});
    backward.Set(Arg::kDiffDst, {0, 1, 0});
    if (forward.kernel()->Find(Arg::kWorkspace) != nullptr) {
      CopyWorkspace(forward, backward);
    } else {
      backward.Set(Arg::kDst, dst);
    }
    backward.Run();
    // -2 * 2 * src / 15^2, plus 1 / 15 in the middle.
    const double gradient[] = {-4.0 / 225, 1.0 / 15 - 8.0 / 225, -12.0 / 225};
    const std::vector<double> diff_src = backward.Get(Arg::kDiffSrc);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(diff_src[i], gradient[i], 1e-6) << i;
  }
}

TEST(LrnKnownValuesTest, AnEvenWindowReachesFurtherToTheRight) {
  const auto op =
      std::make_shared<LrnOp>(Shape{1, 3, 1, 1}, LrnSettings{.size = 2, .alpha = 2, .beta = 1});
  for (const char* backend : {"reference", "native", "eigen", "eigen-sgemm"}) {
    KernelRun run(backend, RequestFor(op, {Pass::kForward}, 1));
    run.Set(Arg::kSrc, {1, 2, 3});
    run.Run();
    const std::vector<double> dst = run.Get(Arg::kDst);
    const double expected[] = {1.0 / 6, 2.0 / 14, 3.0 / 10};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(dst[i], expected[i], 1e-6) << i;
  }
  const KernelRun refused("onednn", RequestFor(op, {Pass::kForward}, 1));
  EXPECT_NE(refused.refusal().find("odd"), std::string::npos) << refused.refusal();
}

TEST(LrnBackendsTest, RandomShapesAgreeWithTheReference) {
  constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 32, 48};
  constexpr std::int64_t kSizes[] = {5, 3, 1, 7, 4};
  const LrnSettings kSettings[] = {
      {}, {.alpha = 5e-4F, .k = 2}, {.alpha = 1, .beta = 0.5F}, {.alpha = 2}};
  for (const std::string backend : {"onednn", "native", "eigen", "eigen-sgemm"}) {
    std::mt19937_64 random(31);
    const auto pick = [&](std::int64_t most) {
      return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    int agreed = 0;
    int refused = 0;
    for (int i = 0; i < 150; ++i) {
      LrnSettings settings = kSettings[i % 4];
      settings.size = kSizes[i / 2 % 5];
      const Shape shape{pick(3), kChannels[pick(6) - 1], pick(9), pick(12)};
      const auto op = std::make_shared<LrnOp>(shape, settings);
      for (const auto& [pass, training] :
           {std::pair{Pass::kForward, true}, std::pair{Pass::kForward, false},
            std::pair{Pass::kBackwardData, true}}) {
        KernelRequest request = RequestFor(op, {pass, training}, 1 + i % 2);
        if (i % 5 == 4) request.execution.type = DataType::kBF16;
        const char* tag = i % 3 == 1 ? "acdb" : i % 3 == 2 ? "aBcd16b" : "abcd";
        for (const Arg arg : {Arg::kSrc, Arg::kDst, Arg::kDiffDst, Arg::kDiffSrc}) {
          if (op->Find(request.execution, arg)) request.layouts[arg] = *Layout::Parse(tag);
        }
        const Verdict verdict = CheckLrn(backend, request, 500 + i, {.may_refuse = true});
        agreed += verdict == Verdict::kAgrees ? 1 : 0;
        refused += verdict == Verdict::kRefused ? 1 : 0;
      }
    }
    EXPECT_EQ(agreed + refused, 3 * 150) << backend;
    RecordProperty(std::string("refused_by_") + backend, refused);
    EXPECT_GT(agreed, backend == "onednn" ? 200 : 100) << refused << " refused";
  }
}

TEST(LrnBackendsTest, AlexNetsNormalizationAgrees) {
  // The first one of AlexNet, with fewer images and pixels.
  const auto op = std::make_shared<LrnOp>(Shape{1, 96, 55, 9}, LrnSettings{.alpha = 5e-4F, .k = 2});
  for (const char* backend : {"onednn", "native", "eigen", "eigen-sgemm"}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      CheckLrn(backend, RequestFor(op, {pass}, 2), 77);
    }
  }
}

// This is not so in TensorFlow's product with a band matrix, which is left out here.
TEST(LrnBackendsTest, NanAndInfinityStayInTheirWindows) {
  for (const char* name : {"reference", "onednn", "native", "eigen-rows"}) {
    for (const double bad : {static_cast<double>(NAN), HUGE_VAL}) {
      SCOPED_TRACE(name);
      const auto op = std::make_shared<LrnOp>(Shape{1, 16, 2, 2}, LrnSettings{.size = 3});
      const auto variant = FindVariant(name);
      ASSERT_TRUE(variant);
      KernelRun run(variant->backend, *RequestOf(*variant, op, {Pass::kForward}, 1));
      ASSERT_NE(run.kernel(), nullptr) << run.refusal();
      std::vector<double> src(64, 1.0);
      src[5 * 4 + 1] = bad;  // channel 5, pixel 1
      run.Set(Arg::kSrc, src);
      run.Run();
      const std::vector<double> dst = run.Get(Arg::kDst);
      for (std::size_t i = 0; i < dst.size(); ++i) {
        const std::size_t c = i / 4;
        const bool sees = i % 4 == 1 && c >= 4 && c <= 6;
        if (!sees) {
          EXPECT_NEAR(dst[i], 1.0, 1e-3) << i;
        } else if (std::isnan(bad) || c == 5) {
          EXPECT_TRUE(std::isnan(dst[i])) << i;  // infinity times infinity^-beta is NaN
        } else {
          EXPECT_EQ(dst[i], 0.0) << i;
        }
      }
    }
  }
}

// TensorFlow's LRN saves nothing, and its gradient reads src and dst again.
TEST(LrnEigenTest, OnlyRowsSaveTheScale) {
  const auto op = std::make_shared<LrnOp>(Shape{2, 17, 3, 3}, LrnSettings{});
  for (const char* backend : {"eigen", "eigen-sgemm"}) {
    const KernelRun forward(backend, RequestFor(op, {Pass::kForward}, 1));
    EXPECT_EQ(forward.kernel()->Find(Arg::kWorkspace), nullptr);
    EXPECT_EQ(forward.kernel()->implementation().find("band_contraction:"), 0U);
    EXPECT_EQ(forward.kernel()->run_scratch_bytes(), 4U * 17 * 17);
    const KernelRun backward(backend, RequestFor(op, {Pass::kBackwardData}, 1));
    EXPECT_EQ(backward.kernel()->Find(Arg::kWorkspace), nullptr);
    EXPECT_NE(backward.kernel()->Find(Arg::kDst), nullptr);
  }
  const auto rows = FindVariant("eigen-rows");
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
    const KernelRequest request = *RequestOf(*rows, op, {pass}, 2);
    EXPECT_NE(KernelRun("eigen", request).kernel()->Find(Arg::kWorkspace), nullptr);
    EXPECT_EQ(CheckLrn("eigen", request, 9), Verdict::kAgrees);
  }
}

// Training is refused where the backward code is wrong; inference is correct and accepted.
TEST(LrnOneDnnTest, RefusesTrainingWhereItsBackwardPassIsWrong) {
  for (const LrnSettings& settings : {LrnSettings{.size = 1}, LrnSettings{.size = 7}}) {
    const auto op = std::make_shared<LrnOp>(Shape{2, 17, 3, 3}, settings);
    for (const auto& [pass, training, refused] : {std::tuple{Pass::kForward, false, false},
                                                  {Pass::kForward, true, true},
                                                  {Pass::kBackwardData, true, true}}) {
      KernelRequest request = RequestFor(op, {pass, training}, 1);
      const Arg data = pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst;
      request.layouts[data] = Layout::ChannelsLast(4);
      const KernelRun run("onednn", request);
      EXPECT_EQ(run.kernel() == nullptr, refused) << Describe("onednn", request);
      EXPECT_EQ(run.refusal().find("NHWC") != std::string::npos, refused) << run.refusal();
      request.layouts[data] = Layout::Plain(4);
      EXPECT_NE(KernelRun("onednn", request).kernel(), nullptr);
    }
  }
}

TEST(LrnReferenceTest, GradientsAgreeWithFiniteDifferences) {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 9}) {
    for (const Shape& shape : {Shape{2, 7, 3, 2}, Shape{1, 1, 2, 2}, Shape{3, 5}}) {
      CheckGradient(std::make_shared<LrnOp>(shape, LrnSettings{.size = size, .alpha = 2}),
                    Arg::kSrc, 8);
    }
  }
}

}  // namespace
}  // namespace topdnn
