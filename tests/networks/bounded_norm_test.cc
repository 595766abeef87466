// A batch normalization with a bounded ReLU in one kernel, in a step whose values exceed the bound.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/simd/vector_isa.h"
#include "networks/graph/builder.h"
#include "networks/parameters/parameters.h"
#include "networks/plan/check.h"
#include "networks/planning/planner.h"

namespace topdnn {
namespace {

constexpr std::int64_t kNormBatch = 3;

std::unique_ptr<Plan> BoundedNormStep(bool fuse) {
  NetworkBuilder net("bounded_norm", {kNormBatch, {3, 8, 8}, 4});
  const ValueId norm = net.ConvNormRelu("conv", net.input(), {.outputs = 16, .kernel = 3},
                                        BatchNormOp::kDefaultEpsilon, 0.5F);
  net.Dense("fc", norm, 4);
  PlanRequest request;
  request.threads = 2;
  request.fuse = fuse;
  request.optimizer.learning_rate = 0;
  auto plan = MakePlan(std::move(net).Take(), request);
  plan->Allocate();
  InitializeParameters(*plan, 3, ParameterDraw::kTraining);
  // Half of the values are below 0, and some are above the bound.
  plan->Write(plan->FindByName("conv.bn.shift"), std::vector<double>(16, 0.0));
  plan->Write(plan->Find(BufferRole::kInput), NormalValues(4, kNormBatch * 3 * 8 * 8));
  plan->Write(plan->Find(BufferRole::kLabels), std::vector<double>{3, 0, 2});
  return plan;
}

TEST(BoundedNormTest, TheFusedStepIsThatOfTwoKernels) {
  if (WidestVectorIsa().empty()) GTEST_SKIP() << "the CPU has neither AVX2 nor AVX-512";
  const auto plan = BoundedNormStep(true), apart = BoundedNormStep(false);
  const auto stages_of = [](const Plan& one, const std::string& kind) {
    return std::count_if(one.stages().begin(), one.stages().end(),
                         [&kind](const Stage& stage) { return stage.op->kind() == kind; });
  };
  EXPECT_EQ(stages_of(*plan, "bounded_relu"), 0);
  EXPECT_EQ(stages_of(*apart, "bounded_relu"), 2);
  for (const StageCheck& check : CheckStages(*plan)) EXPECT_TRUE(check.agrees) << check.reason;
  plan->Run();
  apart->Run();
  for (std::size_t i = 0; i < plan->parameters().size(); ++i) {
    const std::vector<double> gradient = plan->Read(plan->parameters()[i].gradient);
    const std::vector<double> expected = apart->Read(apart->parameters()[i].gradient);
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      ASSERT_NEAR(gradient[j], expected[j], 1e-4) << plan->parameters()[i].layer << " " << j;
    }
  }
}

}  // namespace
}  // namespace topdnn
