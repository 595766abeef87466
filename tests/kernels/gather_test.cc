#include "kernels/gather/gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(GatherOpTest, ProblemsAreReadBackAndExtentsAreChecked) {
  for (const char* problem : {"gather/2x5x3_count4", "gather/1x7x1_count20_constant"}) {
    const auto op = ParseProblem(problem);
    EXPECT_EQ("gather/" + op->Problem(), problem);
    EXPECT_FALSE(op->Has({Pass::kBackwardData}));
  }
  EXPECT_TRUE(ParseProblem("gather/2x5x3_count4")->Parameters().empty());
  for (const char* wrong : {"2x5_count4", "2x5x3_count0", "2x5x3", "1x16777217x1_count1"}) {
    EXPECT_THROW(ParseProblem(std::string("gather/") + wrong), ProblemError) << wrong;
  }
}

TEST(GatherTest, EveryBackendReadsTheElementsAtTheIndices) {
  for (const char* backend : {"reference", "native", "eigen"}) {
    KernelRun run(backend, RequestFor(ParseProblem("gather/2x3x2_count4"), {}, 2));
    ASSERT_NE(run.kernel(), nullptr) << backend << ": " << run.refusal();
    run.Set(IndexedSrc(0), {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
    run.Set(IndexedSrc(1), {2, 0, -1, -3});
    run.Run();
    EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{4, 5, 0, 1, 4, 5, 0, 1,  //
                                                       14, 15, 10, 11, 14, 15, 10, 11}));
    run.Set(IndexedSrc(1), {3, -4, NAN, 1});
    run.Run();
    const std::vector<double> outside = run.Get(Arg::kDst);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(std::isnan(outside[i])) << backend << i;
    EXPECT_EQ(outside[6], 2) << backend;
  }
}

// From -5 to 4 for an extent of 5; in bf16, which represents whole numbers up to 256, below that.
TEST(GatherTest, RandomIndicesSelectEveryElement) {
  for (const char* problem : {"gather/2x5x3_count400", "gather/2x5x3_count400_constant"}) {
    const auto op = ParseProblem(problem);
    const Arg indices = dynamic_cast<const GatherOp&>(*op).indices_arg();
    const Values inputs = RandomInputs(*op, {}, 1);
    const std::set<double> drawn(inputs.at(indices).begin(), inputs.at(indices).end());
    EXPECT_EQ(drawn, (std::set<double>{-5, -4, -3, -2, -1, 0, 1, 2, 3, 4})) << problem;
  }
  const Execution bf16{Pass::kForward, true, DataType::kBF16};
  const Values inputs = RandomInputs(*ParseProblem("gather/1x1000x1_count900"), bf16, 1);
  const auto [least, most] = std::ranges::minmax(inputs.at(IndexedSrc(1)));
  EXPECT_GE(least, -256);
  EXPECT_LE(least, -200);
  EXPECT_LE(most, 255);
  for (const double index : inputs.at(IndexedSrc(1))) EXPECT_EQ(index, std::trunc(index));
}

}  // namespace
}  // namespace topdnn
