#include "kernels/topk/topk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

const char* const kTopKProblems[] = {"topk/7_axis0_k1", "topk/3x50x4_axis1_k5_smallest",
                                     "topk/3x50x4_axis1_k50_indices",
                                     "topk/2x3x9_axis2_k2_smallest_indices"};

TEST(TopKOpTest, ProblemsAreReadBackAndSettingsAreChecked) {
  for (const char* problem : kTopKProblems) {
    const auto op = ParseProblem(problem);
    EXPECT_EQ("topk/" + op->Problem(), problem);
    EXPECT_FALSE(op->Has({Pass::kBackwardData}));
  }
  EXPECT_EQ(ParseProblem("topk/2x9_axis1_k3")->WorkOf(Pass::kForward, DataType::kF32).flops, 54);
  for (const char* wrong :
       {"7_axis1_k1", "7_axis0_k0", "7_axis0_k8", "7_axis0_k1.5", "16777217_axis0_k1"}) {
    EXPECT_THROW(ParseProblem(std::string("topk/") + wrong), ProblemError) << wrong;
  }
}

TEST(TopKTest, EqualElementsKeepTheirOrderAndANanIsFirst) {
  const auto chosen = [](const char* backend, const char* problem, std::vector<double> src) {
    KernelRun run(backend, RequestFor(ParseProblem(problem), {}, 1));
    run.Set(Arg::kSrc, std::move(src));
    run.Run();
    return run.Get(Arg::kDst);
  };
  using Row = std::vector<double>;
  for (const char* backend : {"reference", "native", "eigen"}) {
    EXPECT_EQ(chosen(backend, "topk/5_axis0_k4", {2, 5, 1, 5, 3}), (Row{5, 5, 3, 2}));
    EXPECT_EQ(chosen(backend, "topk/5_axis0_k4_indices", {2, 5, 1, 5, 3}), (Row{1, 3, 4, 0}));
    EXPECT_EQ(chosen(backend, "topk/5_axis0_k3_smallest_indices", {2, 1, 5, 1, 1}), (Row{1, 3, 4}));
    EXPECT_EQ(chosen(backend, "topk/2x2x2_axis1_k1_indices", {1, 9, 2, 8, 3, 1, 0, 7}),
              (Row{1, 0, 0, 1}));
    EXPECT_EQ(chosen(backend, "topk/4_axis0_k3_indices", {1, NAN, 2, NAN}), (Row{1, 3, 2}));
    EXPECT_EQ(chosen(backend, "topk/4_axis0_k4_smallest_indices", {1, NAN, 2, NAN}),
              (Row{1, 3, 0, 2}));
  }
}

TEST(TopKBackendsTest, AgreeWithTheReference) {
  for (const char* problem : kTopKProblems) {
    for (const char* backend : {"native", "eigen"}) {
      CheckAgainstReference(backend, RequestFor(ParseProblem(problem), {}, 2), 3);
    }
  }
}

}  // namespace
}  // namespace topdnn
