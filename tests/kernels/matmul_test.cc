#include "kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// Matrices, equal batches, batches broadcast in each source, and constants.
const char* const kMatMulProblems[] = {
    "matmul/17x33_by33x9",           "matmul/2x3x17x33_by2x3x33x9", "matmul/2x1x17x33_by1x3x33x9",
    "matmul/3x5x4_by1x4x7_constant", "matmul/1x5x4_by3x4x7_of",     "matmul/1x1x1_by4x1x1"};

TEST(MatMulOpTest, ProblemsAreReadBackAndExtentsAreChecked) {
  for (const char* problem : kMatMulProblems) {
    EXPECT_EQ("matmul/" + ParseProblem(problem)->Problem(), problem);
  }
  const auto op = ParseProblem("matmul/2x1x17x33_by1x3x33x9");
  EXPECT_EQ(op->Find({}, Arg::kDst)->shape, (Shape{2, 3, 17, 9}));
  EXPECT_EQ(op->WorkOf(Pass::kForward, DataType::kF32).macs, 6 * 17 * 9 * 33);
  EXPECT_FALSE(op->Has({Pass::kBackwardData}));
  for (const char* wrong : {"2x3_by2x3", "3_by3", "2x3x4_by4x5", "2x3x4_by3x4x5", "2x0_by0x3"}) {
    EXPECT_THROW(ParseProblem(std::string("matmul/") + wrong), ProblemError) << wrong;
  }
}

// The result has a row for each batch of the first source, and a column for each of the second.
TEST(MatMulReferenceTest, KnownValues) {
  KernelRun run("reference", RequestFor(ParseProblem("matmul/2x1x1x2_by1x2x2x1"), {}, 1));
  run.Set(IndexedSrc(0), {1, 2, 3, 4});
  run.Set(IndexedSrc(1), {5, 6, 7, 8});
  run.Run();
  EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{17, 23, 39, 53}));
}

TEST(MatMulBackendsTest, AgreeWithTheReference) {
  for (const char* problem : kMatMulProblems) {
    for (const char* backend : {"onednn", "openblas", "eigen"}) {
      CheckAgainstReference(backend, RequestFor(ParseProblem(problem), {}, 2), 3);
    }
  }
}

}  // namespace
}  // namespace topdnn
