// Pooling on the Eigen backends: TensorFlow's method, which saves nothing, and ours by rows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/pool/pool.h"
#include "tests/kernels/eigen_backends.h"
#include "tests/kernels/random_extents.h"

namespace topdnn {
namespace {

class PoolEigenTest : public EigenBackendTest {};

TEST_P(PoolEigenTest, RandomExtentsAgreeWithTheReference) {
  Random random(33);
  constexpr PoolAlgorithm kAlgorithms[] = {PoolAlgorithm::kMax, PoolAlgorithm::kAverage,
                                           PoolAlgorithm::kAverageOfPadding};
  for (int i = 0; i < 60; ++i) {
    const auto op = std::make_shared<PoolOp>(kAlgorithms[i % 3], RandomPool(random, 13));
    CheckPasses(op, random.Seed());
    EXPECT_EQ(Check(Asking(op, {Pass::kForward, false}, 2), random.Seed()), Verdict::kAgrees);
    if (op->algorithm() != PoolAlgorithm::kMax) continue;
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      EXPECT_EQ(Check(AskingByRows(op, {pass}, 1 + i % 2), random.Seed()), Verdict::kAgrees);
    }
  }
}

// TensorFlow's MaxPool saves nothing, and its MaxPoolGrad reads the source again.
TEST_P(PoolEigenTest, OnlyRowsSaveTheWinners) {
  const auto op = std::make_shared<PoolOp>(PoolAlgorithm::kMax, PoolExtents::Global(1, 3, 2, 2));
  const KernelRun forward(backend(), Asking(op, {Pass::kForward}, 1));
  EXPECT_EQ(forward.kernel()->Find(Arg::kWorkspace), nullptr);
  EXPECT_EQ(forward.kernel()->implementation().find("columns:"), 0U);
  const KernelRun backward(backend(), Asking(op, {Pass::kBackwardData}, 1));
  EXPECT_EQ(backward.kernel()->Find(Arg::kWorkspace), nullptr);
  ASSERT_NE(backward.kernel()->Find(Arg::kSrc), nullptr);
  EXPECT_EQ(backward.kernel()->Find(Arg::kSrc)->desc.layout.tag(), "acdb");
  // 3 results: a maximum of 4 bytes and its place of 8.
  EXPECT_EQ(backward.kernel()->run_scratch_bytes(), 3U * 12);

  const KernelRun rows(backend(), AskingByRows(op, {Pass::kForward}, 1));
  EXPECT_NE(rows.kernel()->Find(Arg::kWorkspace), nullptr);
  EXPECT_EQ(rows.kernel()->implementation().find("rows:"), 0U);
  // Backward reads the workspace that forward has saved, also if the request does not name rows.
  KernelRequest reader = Asking(op, {Pass::kBackwardData}, 1);
  reader.layouts[Arg::kWorkspace] = rows.DescOf(Arg::kWorkspace).layout;
  EXPECT_NE(KernelRun(backend(), reader).kernel()->Find(Arg::kWorkspace), nullptr);
  const KernelRun missing(backend(), AskingByRows(op, Recomputing({Pass::kBackwardData}), 1));
  EXPECT_THAT(missing.refusal(), testing::HasSubstr("this one saved none"));
  const auto average =
      std::make_shared<PoolOp>(PoolAlgorithm::kAverage, PoolExtents::Global(1, 3, 2, 2));
  EXPECT_THAT(KernelRun(backend(), AskingByRows(average, {Pass::kForward}, 1)).refusal(),
              testing::HasSubstr("averages always use it"));
}

// Of equal elements the first one wins, also if all are minus infinity.
TEST_P(PoolEigenTest, TheFirstMaximumGetsTheGradient) {
  const auto op = std::make_shared<PoolOp>(PoolAlgorithm::kMax, PoolExtents::Global(1, 2, 2, 2));
  KernelRun forward(backend(), Asking(op, {Pass::kForward}, 1));
  const std::vector<double> src = {1, 2, 2, 2, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  forward.Set(Arg::kSrc, src);
  forward.Run();
  EXPECT_EQ(forward.Get(Arg::kDst), (std::vector<double>{2, -HUGE_VAL}));
  KernelRun backward(backend(), Asking(op, {Pass::kBackwardData}, 1));
  backward.Set(Arg::kSrc, src);
  backward.Set(Arg::kDiffDst, {3, 4});
  backward.Run();
  EXPECT_EQ(backward.Get(Arg::kDiffSrc), (std::vector<double>{0, 3, 0, 0, 4, 0, 0, 0}));
}

TEST_P(PoolEigenTest, WinnersAgreeWithTheReference) {
  const double nan = std::nan("");
  const auto op = std::make_shared<PoolOp>(PoolAlgorithm::kMax, PoolExtents::Global(1, 5, 2, 2));
  KernelRun run(backend(), AskingByRows(op, {Pass::kForward}, 1));
  constexpr double kInf = HUGE_VAL;
  const std::vector<std::vector<double>> windows = {
      {1, 2, 2, 2}, {5, 7, nan, nan}, {5, nan, 7, nan}, {-kInf, 1, 3, kInf}, {4, 4, 3, -kInf}};
  std::vector<double> src;
  for (const auto& window : windows) src.insert(src.end(), window.begin(), window.end());
  run.Set(Arg::kSrc, src);
  run.Run();
  EXPECT_EQ(run.Get(Arg::kWorkspace), (std::vector<double>{1, 2, 1, 3, 0}));
  const std::vector<double> dst = run.Get(Arg::kDst);
  EXPECT_EQ(dst[0], 2);
  EXPECT_TRUE(std::isnan(dst[1]));
  EXPECT_TRUE(std::isnan(dst[2]));
  EXPECT_EQ(dst[3], kInf);
  EXPECT_EQ(dst[4], 4);
}

INSTANTIATE_TEST_SUITE_P(Backends, PoolEigenTest, EigenBackendTest::All(),
                         EigenBackendTest::NameOf);

}  // namespace
}  // namespace topdnn
