#include "kernels/gather/gather.h"

#include <gtest/gtest.h>

#include <cmath>
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

}  // namespace
}  // namespace topdnn
