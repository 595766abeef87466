#include "tests/kernels/case_count.h"

#include <gtest/gtest.h>

namespace topdnn {
namespace {

TEST(CaseCountsTest, SumsByKindAndListsLeftOutCasesOnce) {
  CaseCounts counts;
  EXPECT_EQ(counts.Lines(), "");
  counts.Add("randomised", 2);
  counts.Add("gradient check", 1);
  counts.Add("randomised", 3);
  counts.AddLeftOut("ONNX", "test_b", "3-D");
  counts.AddLeftOut("ONNX", "test_a", "3-D");
  counts.AddLeftOut("ONNX", "test_b", "3-D");
  EXPECT_EQ(counts.Lines(),
            "cases | gradient check | 1\n"
            "cases | randomised | 5\n"
            "left out | ONNX | test_a | 3-D\n"
            "left out | ONNX | test_b | 3-D\n");
}

}  // namespace
}  // namespace topdnn
