#include "kernels/transpose/transpose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
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

using Order = std::vector<int>;

TEST(TransposeOpTest, ShapesWorkAndProblem) {
  const TransposeOp op(Shape{2, 3, 4, 5}, {0, 2, 3, 1});
  EXPECT_EQ(op.dst_shape(), (Shape{2, 4, 5, 3}));
  EXPECT_EQ(op.In(Pass::kBackwardData).order, (Order{0, 3, 1, 2}));
  EXPECT_EQ(op.Problem(), "2x3x4x5_order0x2x3x1");
  EXPECT_EQ(ParseProblem("transpose/" + op.Problem())->Problem(), op.Problem());
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
    EXPECT_EQ(op.WorkOf(pass, DataType::kF32).flops, 0);
    EXPECT_EQ(op.WorkOf(pass, DataType::kF32).bytes, 4 * 2 * 120);
  }
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
}

TEST(TransposeOpTest, ImpossibleOrdersAreRefused) {
  const auto make = [](Shape shape, Order order) {
    return TransposeOp(std::move(shape), std::move(order));
  };
  EXPECT_THROW(make({}, {}), std::invalid_argument);
  EXPECT_THROW(make({2, 3}, {0}), std::invalid_argument);
  EXPECT_THROW(make({2, 3}, {0, 0}), std::invalid_argument);
  EXPECT_THROW(make({2, 3}, {1, 2}), std::invalid_argument);
  EXPECT_THROW(make({2, 3}, {-1, 0}), std::invalid_argument);
  EXPECT_THROW(make({2, 0}, {1, 0}), std::invalid_argument);
  for (const char* wrong : {"2x3", "2x3_order0", "2x3_order0x2", "2x3_order0x0.5",
                            "2x3_order0x1e300", "2x3_order-1x0"}) {
    EXPECT_THROW(ParseProblem(std::string("transpose/") + wrong), ProblemError) << wrong;
  }
}

TEST(TransposeReferenceTest, GradientsAgreeWithFiniteDifferences) {
  CheckGradient(std::make_shared<TransposeOp>(Shape{2, 3, 4}, Order{2, 0, 1}), Arg::kSrc, 1);
}

class TransposeBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(TransposeBackendTest, KnownValues) {
  const auto op = std::make_shared<TransposeOp>(Shape{2, 1, 3}, Order{2, 0, 1});
  KernelRun run(GetParam(), RequestFor(op, {}, 1));
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  run.Set(Arg::kSrc, {1, 2, 3, 4, 5, 6});
  run.Run();
  EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  KernelRun back(GetParam(), RequestFor(op, {Pass::kBackwardData}, 1));
  ASSERT_NE(back.kernel(), nullptr) << back.refusal();
  back.Set(Arg::kDiffDst, {1, 4, 2, 5, 3, 6});
  back.Run();
  EXPECT_EQ(back.Get(Arg::kDiffSrc), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_P(TransposeBackendTest, RandomShapesAndOrdersAgreeWithTheReference) {
  constexpr std::int64_t kExtents[] = {1, 2, 3, 5, 16, 17};
  constexpr const char* kTags[] = {"abcd", "acdb", "cdba", "aBcd16b"};
  Random random(74);
  int refused = 0;
  for (int i = 0; i < 90; ++i) {
    const int rank = i % 3 == 0 ? 4 : static_cast<int>(random.UpTo(5));
    std::vector<std::int64_t> extents;
    for (int d = 0; d < rank; ++d) extents.push_back(kExtents[random.Between(0, 5)]);
    if (i % 30 == 3) extents = {2, 40, 30, 17};
    Order order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random.engine());
    const auto op = std::make_shared<TransposeOp>(Shape(extents), order);
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      KernelRequest request = RequestFor(op, {pass}, 1 + i % 2);
      bool may_refuse = GetParam().starts_with("eigen") && rank == 5;
      if (GetParam() == "onednn" && i % 5 == 4) request.execution.type = DataType::kBF16;
      if (rank == 4 && GetParam() != "reference" && GetParam() != "native") {
        const Transposition move = op->In(pass);
        const std::int64_t blocked = GetParam() == "onednn" ? 3 : 2;
        request.layouts[move.from] = *Layout::Parse(kTags[random.Between(0, blocked)]);
        request.layouts[move.to] = *Layout::Parse(kTags[random.Between(0, blocked)]);
      }
      const Verdict verdict =
          CheckAgainstReference(GetParam(), request, 7 * i, {.may_refuse = may_refuse});
      EXPECT_NE(verdict, Verdict::kDiffers);
      refused += verdict == Verdict::kRefused ? 1 : 0;
    }
  }
  EXPECT_LE(refused, 20);
}

TEST_P(TransposeBackendTest, NanAndInfinityAreCopied) {
  CheckAgainstReference(GetParam(),
                        RequestFor(std::make_shared<TransposeOp>(Shape{2, 2}, Order{1, 0}), {}, 1),
                        2, {.inputs = {{Arg::kSrc, {NAN, HUGE_VAL, -HUGE_VAL, 1}}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, TransposeBackendTest,
                         testing::Values("reference", "onednn", "native", "eigen", "eigen-sgemm"));

TEST(TransposeEigenTest, BlockedLayoutsAreRefusedWithAReason) {
  const auto op = std::make_shared<TransposeOp>(Shape{1, 16, 2, 2}, Order{0, 2, 3, 1});
  KernelRequest request = RequestFor(op, {}, 1);
  request.layouts[Arg::kSrc] = *Layout::Parse("aBcd16b");
  EXPECT_NE(KernelRun("eigen", request).refusal().find("unblocked"), std::string::npos);
}

}  // namespace
}  // namespace topdnn
