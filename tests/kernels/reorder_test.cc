#include "kernels/reorder/reorder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

KernelRequest Reorder(const Shape& shape, DataType from, const char* from_tag, DataType to,
                      const char* to_tag) {
  KernelRequest request = RequestFor(std::make_shared<ReorderOp>(shape, from, to), {}, 2);
  request.layouts[Arg::kSrc] = *Layout::Parse(from_tag);
  request.layouts[Arg::kDst] = *Layout::Parse(to_tag);
  return request;
}

TEST(ReorderOpTest, MovesBytesAndComputesNothing) {
  const ReorderOp op(Shape{2, 3, 4, 5}, DataType::kF32, DataType::kBF16);
  const Work work = op.WorkOf(Pass::kForward, DataType::kF32);
  EXPECT_EQ(work.flops, 0);
  EXPECT_EQ(work.bytes, 120 * (4 + 2));
  EXPECT_FALSE(op.Has({Pass::kBackwardData}));
}

class ReorderBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(ReorderBackendTest, EveryElementIsMovedToItsPlace) {
  std::mt19937_64 random(9);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  constexpr const char* kTags[] = {"abcd", "acdb", "aBcd16b", "aBcd8b"};
  constexpr DataType kTypes[] = {DataType::kF32, DataType::kBF16};
  for (int i = 0; i < 64; ++i) {
    const Shape shape{upto(4), upto(40), upto(7), upto(7)};
    const DataType from = kTypes[i % 2];
    const DataType to = kTypes[random() % 2];
    const KernelRequest request = Reorder(shape, from, kTags[i % 4], to, kTags[i / 4 % 4]);
    SCOPED_TRACE(Describe(GetParam(), request));
    KernelRun run(GetParam(), request);
    ASSERT_NE(run.kernel(), nullptr) << run.refusal();
    // Padding inside blocks must be zero afterwards, whatever was there before.
    std::memset(run.memory(Arg::kDst).data(), 0xff, run.memory(Arg::kDst).bytes());
    run.SetInputs(RandomInputs(*request.op, request.execution, random()));
    run.Run();
    // A copy through the element type defines the expected rounding (tensor_test.cc tests it).
    Tensor expected(run.DescOf(Arg::kDst));
    FromDouble(run.Get(Arg::kSrc), expected.desc(), expected.data());
    EXPECT_EQ(std::memcmp(run.memory(Arg::kDst).data(), expected.data(), expected.desc().bytes()),
              0);
  }
}

TEST_P(ReorderBackendTest, NanAndInfinityAreCopied) {
  KernelRun run(GetParam(),
                Reorder(Shape{1, 3, 1, 2}, DataType::kF32, "abcd", DataType::kBF16, "aBcd16b"));
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  run.Set(Arg::kSrc, {NAN, HUGE_VAL, -HUGE_VAL, 1, 2, 3});
  run.Run();
  const std::vector<double> dst = run.Get(Arg::kDst);
  EXPECT_TRUE(std::isnan(dst[0]));
  EXPECT_EQ(dst[1], HUGE_VAL);
  EXPECT_EQ(dst[2], -HUGE_VAL);
  EXPECT_EQ(dst[5], 3);
}

INSTANTIATE_TEST_SUITE_P(Backends, ReorderBackendTest,
                         testing::Values("reference", "onednn", "native"));

TEST(ReorderTest, WeightsAreReorderedToABlockedLayoutAndBack) {
  const Shape shape{33, 17, 3, 3};
  KernelRun there("onednn", Reorder(shape, DataType::kF32, "abcd", DataType::kF32, "ABcd16b16a"));
  ASSERT_NE(there.kernel(), nullptr) << there.refusal();
  const ReorderOp op(shape, DataType::kF32, DataType::kF32);
  there.SetInputs(RandomInputs(op, {}, 1));
  there.Run();
  EXPECT_EQ(there.Get(Arg::kDst), there.Get(Arg::kSrc));
}

TEST(ReorderTest, UnsupportedTypesAreRefusedWithAReason) {
  const KernelRun run("onednn", Reorder(Shape{2, 3}, DataType::kF64, "ab", DataType::kF32, "ba"));
  EXPECT_EQ(run.kernel(), nullptr);
  EXPECT_NE(run.refusal().find("oneDNN"), std::string::npos) << run.refusal();
}

}  // namespace
}  // namespace topdnn
