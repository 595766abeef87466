#include "kernels/pool/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/kernels/case_count.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/random_extents.h"

namespace topdnn {
namespace {

constexpr PoolAlgorithm kAlgorithms[] = {PoolAlgorithm::kMax, PoolAlgorithm::kAverage,
                                         PoolAlgorithm::kAverageOfPadding};

std::vector<double> RunReference(const PoolOp& op, const Execution& execution, Arg from, Arg to,
                                 const std::vector<double>& values) {
  KernelRun run("reference", RequestFor(std::make_shared<PoolOp>(op), execution, 1));
  run.Set(from, values);
  run.Run();
  return run.Get(to);
}

TEST(PoolExtentsTest, RoundDownOrUp) {
  PoolExtents e{.n = 1, .c = 1, .h = 8, .w = 9, .r = 3, .s = 3, .stride_h = 2, .stride_w = 2};
  EXPECT_EQ(e.oh(), 3);
  EXPECT_EQ(e.ow(), 4);
  e.ceil_mode = true;
  EXPECT_EQ(e.oh(), 4);
  EXPECT_EQ(e.ow(), 4);
  // The first pooling of ResNet-50, and that of GoogLeNet with padding only at the end.
  EXPECT_EQ((PoolExtents{.h = 112,
                         .w = 112,
                         .r = 3,
                         .s = 3,
                         .stride_h = 2,
                         .stride_w = 2,
                         .pad_top = 1,
                         .pad_left = 1,
                         .pad_bottom = 1,
                         .pad_right = 1}
                 .oh()),
            56);
  EXPECT_EQ((PoolExtents{.h = 112,
                         .w = 112,
                         .r = 3,
                         .s = 3,
                         .stride_h = 2,
                         .stride_w = 2,
                         .pad_bottom = 1,
                         .pad_right = 1}
                 .ow()),
            56);
}

TEST(PoolExtentsTest, NoWindowCoversOnlyTrailingPadding) {
  const PoolExtents e{.h = 3,
                      .w = 3,
                      .r = 2,
                      .s = 2,
                      .stride_h = 2,
                      .stride_w = 2,
                      .pad_top = 1,
                      .pad_left = 1,
                      .pad_bottom = 1,
                      .pad_right = 1,
                      .ceil_mode = true};
  // Windows start at -1 and 1; one at 3 would lie outside the image.
  EXPECT_EQ(e.oh(), 2);
  EXPECT_EQ(e.ow(), 2);
}

TEST(PoolExtentsTest, ImpossibleGeometryIsRefused) {
  const auto make = [](const PoolExtents& e) { return PoolOp(PoolAlgorithm::kMax, e); };
  EXPECT_THROW(make({.h = 2, .w = 5, .r = 3, .s = 3}), std::invalid_argument);
  EXPECT_THROW(make({.h = 0, .w = 5}), std::invalid_argument);
  EXPECT_THROW(make({.n = -1, .h = 5, .w = 5}), std::invalid_argument);
  EXPECT_THROW(make({.h = 5, .w = 5, .stride_h = 0}), std::invalid_argument);
  EXPECT_THROW(make({.h = 5, .w = 5, .r = 2, .s = 2, .pad_top = 2}), std::invalid_argument);
  EXPECT_THROW(make({.h = 5, .w = 5, .r = 2, .s = 2, .pad_right = -1}), std::invalid_argument);
  EXPECT_NO_THROW(make({.h = 1,
                        .w = 1,
                        .r = 3,
                        .s = 3,
                        .pad_top = 1,
                        .pad_left = 1,
                        .pad_bottom = 1,
                        .pad_right = 1}));
}

TEST(PoolWorkTest, CountsElementsOfWindows) {
  // 2x2 windows over a 3x3 image with one row and one column of leading padding: 2x2 outputs read
  // (1 + 2) x (1 + 2) elements.
  const PoolExtents e{.n = 2,
                      .c = 5,
                      .h = 3,
                      .w = 3,
                      .r = 2,
                      .s = 2,
                      .stride_h = 2,
                      .stride_w = 2,
                      .pad_top = 1,
                      .pad_left = 1};
  const PoolOp max(PoolAlgorithm::kMax, e);
  const Work forward = max.WorkOf(Pass::kForward, DataType::kF32);
  EXPECT_EQ(forward.macs, 0);
  EXPECT_EQ(forward.flops, 2 * 5 * 4 * 4);
  EXPECT_EQ(forward.flops_without_padding, 2 * 5 * 9);
  EXPECT_EQ(forward.bytes, 4 * (2 * 5 * 9 + 2 * 5 * 4 + 2 * 5 * 4));  // src, dst, workspace
  EXPECT_EQ(max.WorkOf(Pass::kBackwardData, DataType::kF32).flops, 2 * 5 * 4);
  // Backward that finds the maxima again compares each element once more, and reads src (90) and
  // diff_dst (40) to write diff_src (90).
  const Work again = max.WorkIn(Recomputing({Pass::kBackwardData}));
  EXPECT_EQ(again.flops, 2 * 5 * 4 * 4 + 2 * 5 * 4);
  EXPECT_EQ(again.flops_without_padding, 2 * 5 * 9 + 2 * 5 * 4);
  EXPECT_EQ(again.bytes, 4 * (90 + 40 + 90));
  EXPECT_EQ(max.WorkIn(Recomputing({Pass::kForward})).bytes, 4 * (90 + 40));

  const PoolOp average(PoolAlgorithm::kAverage, e);
  EXPECT_EQ(average.WorkOf(Pass::kForward, DataType::kF32).flops_without_padding,
            2 * 5 * 9 + 2 * 5 * 4);
  EXPECT_EQ(average.WorkOf(Pass::kBackwardData, DataType::kF32).flops, 2 * 5 * 4 * 4 + 2 * 5 * 4);
  EXPECT_EQ(average.AccumulationLength(Pass::kForward), 4);
  EXPECT_FALSE(max.Has({Pass::kBackwardWeights}));
}

TEST(PoolReferenceTest, KnownValues) {
  const PoolExtents e{.h = 3,
                      .w = 3,
                      .r = 2,
                      .s = 2,
                      .stride_h = 2,
                      .stride_w = 2,
                      .pad_top = 1,
                      .pad_left = 1,
                      .ceil_mode = true};
  const std::vector<double> src = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Execution forward{Pass::kForward};
  EXPECT_EQ(RunReference({PoolAlgorithm::kMax, e}, forward, Arg::kSrc, Arg::kDst, src),
            (std::vector<double>{1, 3, 7, 9}));
  EXPECT_EQ(RunReference({PoolAlgorithm::kMax, e}, forward, Arg::kSrc, Arg::kWorkspace, src),
            (std::vector<double>{3, 3, 3, 3}));
  EXPECT_EQ(RunReference({PoolAlgorithm::kAverage, e}, forward, Arg::kSrc, Arg::kDst, src),
            (std::vector<double>{1, 2.5, 5.5, 7}));
  EXPECT_EQ(RunReference({PoolAlgorithm::kAverageOfPadding, e}, forward, Arg::kSrc, Arg::kDst, src),
            (std::vector<double>{0.25, 1.25, 2.75, 7}));
}

TEST(PoolReferenceTest, CeilModeAveragesOnlyImageAndPadding) {
  // The second window starts at 2 and would end at 5, one element beyond the padding.
  const PoolExtents e{.w = 3, .s = 3, .stride_w = 2, .pad_right = 1, .ceil_mode = true};
  ASSERT_EQ(e.ow(), 2);
  EXPECT_EQ(RunReference({PoolAlgorithm::kAverageOfPadding, e}, {Pass::kForward}, Arg::kSrc,
                         Arg::kDst, {3, 6, 9}),
            (std::vector<double>{6, 4.5}));
}

TEST(PoolReferenceTest, TheFirstMaximumAndNanWin) {
  const double nan = std::nan("");
  const PoolOp op(PoolAlgorithm::kMax, PoolExtents::Global(1, 3, 2, 2));
  const std::vector<double> src = {1, 2, 2, 2, 5, nan, 7, nan, 1, HUGE_VAL, 3, -HUGE_VAL};
  const auto dst = RunReference(op, {Pass::kForward}, Arg::kSrc, Arg::kDst, src);
  EXPECT_EQ(dst[0], 2);
  EXPECT_TRUE(std::isnan(dst[1]));
  EXPECT_EQ(dst[2], HUGE_VAL);
  EXPECT_EQ(RunReference(op, {Pass::kForward}, Arg::kSrc, Arg::kWorkspace, src),
            (std::vector<double>{1, 1, 1}));
}

// Two equal maxima: the first gets the gradient. The NaN of the second channel gets it, too.
TEST(PoolReferenceTest, MaximaAreFoundAgainWithoutAWorkspace) {
  const PoolOp op(PoolAlgorithm::kMax, PoolExtents::Global(1, 2, 2, 2));
  KernelRun run("reference",
                RequestFor(std::make_shared<PoolOp>(op), Recomputing({Pass::kBackwardData}), 1));
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  EXPECT_EQ(run.kernel()->Find(Arg::kWorkspace), nullptr);
  run.Set(Arg::kSrc, {1, 2, 2, 2, 5, 7, std::nan(""), 9});
  run.Set(Arg::kDiffDst, {3, 4});
  run.Run();
  EXPECT_EQ(run.Get(Arg::kDiffSrc), (std::vector<double>{0, 3, 0, 0, 0, 0, 4, 0}));
}

// oneDNN and the loops need the positions of the maxima, which their forward pass saves.
TEST(PoolBackendsTest, APassThatNeedsAWorkspaceIsRefusedWithoutOne) {
  const auto op = std::make_shared<PoolOp>(PoolAlgorithm::kMax, PoolExtents::Global(1, 3, 2, 2));
  for (const char* backend : {"onednn", "native"}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      const KernelRun run(backend, RequestFor(op, Recomputing({pass}), 1));
      EXPECT_EQ(run.kernel(), nullptr);
      EXPECT_NE(run.refusal().find("need the workspace of forward"), std::string::npos)
          << run.refusal();
    }
  }
}

TEST(PoolOneDnnTest, RandomShapesAgreeWithTheReference) {
  Random random(11);
  int agreed = 0;
  int refused = 0;
  for (int i = 0; i < 120; ++i) {
    const auto op = std::make_shared<PoolOp>(kAlgorithms[i % 3], RandomPool(random, 13));
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      KernelRequest request = RequestFor(op, {pass, i % 2 == 0}, 1 + i % 2);
      if (i % 5 == 4 && OneDnnHasBf16()) request.execution.type = DataType::kBF16;
      const char* tag = i % 4 == 1 ? "acdb" : i % 4 == 2 ? "aBcd16b" : "";
      if (*tag != 0) {
        request.layouts[pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst] = *Layout::Parse(tag);
      }
      CheckOptions options{.may_refuse = true};
      if (request.execution.type == DataType::kBF16 && pass == Pass::kBackwardData) {
        options.sum_type = DataType::kBF16;
      }
      const Verdict verdict = CheckAgainstReference("onednn", request, 100 + i, options);
      agreed += verdict == Verdict::kAgrees ? 1 : 0;
      refused += verdict == Verdict::kRefused ? 1 : 0;
    }
  }
  RecordProperty("agreed", agreed);
  RecordProperty("refused", refused);
  EXPECT_GT(agreed, 200) << refused << " refused";
}

TEST(PoolOneDnnTest, CeilModeThatAveragesPaddingIsRefused) {
  const PoolExtents e{.w = 3, .s = 3, .stride_w = 2, .pad_right = 1, .ceil_mode = true};
  const auto op = std::make_shared<PoolOp>(PoolAlgorithm::kAverageOfPadding, e);
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
    const KernelRequest request = RequestFor(op, {pass}, 1);
    EXPECT_NE(KernelRun("onednn", request).refusal().find("ceil mode"), std::string::npos);
    EXPECT_EQ(CheckAgainstReference("native", request, 3), Verdict::kAgrees);
  }
}

TEST(PoolOneDnnTest, InfinityAndNanOfAveragesPropagate) {
  const PoolExtents e{
      .n = 1, .c = 16, .h = 4, .w = 4, .r = 2, .s = 2, .stride_h = 2, .stride_w = 2};
  std::vector<double> src(16 * 16, 0.5);
  src[3] = HUGE_VAL;
  src[21] = -HUGE_VAL;
  for (const PoolAlgorithm algorithm : kAlgorithms) {
    // oneDNN's maximum ignores NaN, so only averages get one.
    src[35] = algorithm == PoolAlgorithm::kMax ? 0.5 : std::nan("");
    const auto request = RequestFor(std::make_shared<PoolOp>(algorithm, e), {Pass::kForward}, 2);
    CheckAgainstReference("onednn", request, 5, {.inputs = {{Arg::kSrc, src}}});
  }
}

// d(sum of weights * dst) / d(src) by central differences in f64.
TEST(PoolReferenceTest, GradientsAgreeWithFiniteDifferences) {
  Random random(3);
  for (int i = 0; i < 30; ++i) {
    const auto op = std::make_shared<PoolOp>(kAlgorithms[i % 3], RandomPool(random, 13));
    const KernelRequest backward = RequestFor(op, {Pass::kBackwardData, true, DataType::kF64}, 1);
    const Values inputs = RandomInputs(*op, backward.execution, 40 + i);
    KernelRun forward("reference", ForwardOf(backward));
    // Distinct values in [-1, 1), further apart than the step, so that there are no ties.
    std::vector<double> src(static_cast<std::size_t>(op->src_shape().elements()));
    for (std::size_t k = 0; k < src.size(); ++k)
      src[k] = 2 * static_cast<double>(k) / static_cast<double>(src.size()) - 1;
    std::shuffle(src.begin(), src.end(), random.engine());
    const auto loss = [&] {
      forward.Set(Arg::kSrc, src);
      forward.Run();
      const std::vector<double> dst = forward.Get(Arg::kDst);
      double sum = 0;
      for (std::size_t k = 0; k < dst.size(); ++k) sum += dst[k] * inputs.at(Arg::kDiffDst)[k];
      return sum;
    };
    const auto gradient = ReferenceResults(backward, inputs, {{Arg::kSrc, src}}).at(Arg::kDiffSrc);
    for (int probe = 0; probe < 10; ++probe) {
      const std::size_t k = random.Seed() % src.size();
      const double step = 1e-5;
      const double value = src[k];
      src[k] = value + step;
      const double above = loss();
      src[k] = value - step;
      const double below = loss();
      src[k] = value;
      EXPECT_NEAR(gradient[k], (above - below) / (2 * step), 1e-8) << op->Problem();
    }
    CountCase("gradient check");
  }
}

}  // namespace
}  // namespace topdnn
