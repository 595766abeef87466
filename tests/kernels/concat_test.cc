#include "kernels/concat/concat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(ConcatOpTest, ShapeWorkAndOperands) {
  const ConcatOp op({Shape{2, 3, 4, 5}, Shape{2, 7, 4, 5}}, 1);
  EXPECT_EQ(op.dst_shape(), (Shape{2, 10, 4, 5}));
  EXPECT_EQ(op.OffsetOf(0), 0);
  EXPECT_EQ(op.OffsetOf(1), 3);
  EXPECT_EQ(op.Problem(), "2x10x4x5_axis1_parts3x7");
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
    EXPECT_EQ(op.WorkOf(pass, DataType::kF32).flops, 0);
    EXPECT_EQ(op.WorkOf(pass, DataType::kF32).bytes, 4 * 2 * 400);
  }
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
}

TEST(ConcatOpTest, SourcesAreContiguousWithOneRow) {
  const ConcatOp one({Shape{1, 3, 4, 5}, Shape{1, 7, 4, 5}}, 1);
  EXPECT_EQ(one.Traits().source_places, (std::vector<std::int64_t>{0, 60}));
  const ConcatOp two({Shape{2, 3, 4, 5}, Shape{2, 7, 4, 5}}, 1);
  EXPECT_TRUE(two.Traits().source_places.empty());
}

TEST(ConcatOpTest, ImpossibleGeometryIsRefused) {
  const auto make = [](std::vector<Shape> sources, int axis) {
    return ConcatOp(std::move(sources), axis);
  };
  EXPECT_THROW(make({}, 0), std::invalid_argument);
  EXPECT_THROW(make({Shape{2, 3}}, 2), std::invalid_argument);
  EXPECT_THROW(make({Shape{2, 3}}, -1), std::invalid_argument);
  EXPECT_THROW(make({Shape{2, 3}, Shape{3, 3}}, 1), std::invalid_argument);
  EXPECT_THROW(make({Shape{2, 3}, Shape{2, 3, 1}}, 1), std::invalid_argument);
  EXPECT_THROW(make({Shape{2, 3}, Shape{2, 0}}, 1), std::invalid_argument);
  const Shape huge{1 << 24, 1 << 24};
  EXPECT_THROW(make({huge, huge}, 0), std::invalid_argument);
  EXPECT_NO_THROW(make({huge}, 0));
}

TEST(ConcatReferenceTest, GradientsAgreeWithFiniteDifferences) {
  const std::vector<Shape> sources = {Shape{2, 3, 2, 2}, Shape{2, 1, 2, 2}, Shape{2, 4, 2, 2}};
  const auto op = std::make_shared<ConcatOp>(sources, 1);
  for (int i = 0; i < 3; ++i) CheckGradient(op, IndexedSrc(i), 5);
}

class ConcatBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(ConcatBackendTest, KnownValues) {
  const std::vector<Shape> sources = {Shape{2, 1, 1, 2}, Shape{2, 2, 1, 2}};
  const auto op = std::make_shared<ConcatOp>(sources, 1);
  KernelRun run(GetParam(), RequestFor(op, {}, 1));
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  run.Set(IndexedSrc(0), {1, 2, 3, 4});
  run.Set(IndexedSrc(1), {10, 20, 30, 40, 50, 60, 70, 80});
  run.Run();
  const std::vector<double> whole = {1, 2, 10, 20, 30, 40, 3, 4, 50, 60, 70, 80};
  EXPECT_EQ(run.Get(Arg::kDst), whole);
  KernelRun back(GetParam(), RequestFor(op, {Pass::kBackwardData}, 1));
  ASSERT_NE(back.kernel(), nullptr) << back.refusal();
  back.Set(Arg::kDiffDst, whole);
  back.Run();
  EXPECT_EQ(back.Get(IndexedDiffSrc(0)), run.Get(IndexedSrc(0)));
  EXPECT_EQ(back.Get(IndexedDiffSrc(1)), run.Get(IndexedSrc(1)));
}

TEST_P(ConcatBackendTest, RandomShapesAgreeWithTheReference) {
  std::mt19937_64 random(41);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 32};
  const bool layouts = GetParam() == "onednn";
  int refused = 0;
  for (int i = 0; i < 120; ++i) {
    const int axis = i % 3 == 0 ? static_cast<int>(random() % 4) : 1;
    const std::vector<std::int64_t> extents = {upto(3), kChannels[random() % 5], upto(9), upto(9)};
    const bool whole_blocks = i % 2 == 0;
    std::vector<Shape> sources;
    for (std::int64_t s = upto(5); s > 0; --s) {
      auto own = extents;
      own[static_cast<std::size_t>(axis)] =
          axis == 1 ? (whole_blocks ? 16 * upto(2) : kChannels[random() % 5]) : upto(7);
      sources.emplace_back(own);
    }
    const auto op = std::make_shared<ConcatOp>(sources, axis);
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      KernelRequest request = RequestFor(op, {pass}, 1 + i / 2 % 2);
      bool may_refuse = false;
      if (layouts) {
        if (i % 5 == 4) request.execution.type = DataType::kBF16;
        const char* tag = i % 4 == 1 ? "acdb" : i % 4 >= 2 ? "aBcd16b" : "abcd";
        request.layouts[pass == Pass::kForward ? IndexedSrc(0) : Arg::kDiffDst] =
            *Layout::Parse(tag);
        may_refuse = i % 4 >= 2 && axis == 1 && !whole_blocks;
      }
      const Verdict verdict =
          CheckAgainstReference(GetParam(), request, 7 * i, {.may_refuse = may_refuse});
      refused += verdict == Verdict::kRefused ? 1 : 0;
    }
  }
  EXPECT_LE(refused, 40);
}

TEST_P(ConcatBackendTest, NanAndInfinityAreCopied) {
  const std::vector<Shape> sources = {Shape{1, 2}, Shape{1, 1}};
  const auto op = std::make_shared<ConcatOp>(sources, 1);
  CheckAgainstReference(
      GetParam(), RequestFor(op, {}, 1), 2,
      {.inputs = {{IndexedSrc(0), {NAN, HUGE_VAL}}, {IndexedSrc(1), {-HUGE_VAL}}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, ConcatBackendTest,
                         testing::Values("reference", "onednn", "native", "eigen", "eigen-sgemm"));

TEST(ConcatOneDnnTest, APartThatEndsInsideABlockIsRefusedWithAReason) {
  const std::vector<Shape> sources = {Shape{1, 17, 2, 2}, Shape{1, 15, 2, 2}};
  KernelRequest request =
      RequestFor(std::make_shared<ConcatOp>(sources, 1), {Pass::kBackwardData}, 1);
  request.layouts[Arg::kDiffDst] = *Layout::Parse("aBcd16b");
  const KernelRun run("onednn", request);
  EXPECT_EQ(run.kernel(), nullptr);
  EXPECT_NE(run.refusal().find("oneDNN"), std::string::npos) << run.refusal();
}

}  // namespace
}  // namespace topdnn
