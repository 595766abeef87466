// The whole chain of backward passes against finite differences of the loss, in double. The graph
// has a residual addition, a concatenation, a batch normalization with and without ReLU, and a
// value that three layers read.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/eltwise/add.h"
#include "kernels/inner_product/inner_product.h"
#include "networks/graph/builder.h"
#include "networks/parameters/parameters.h"
#include "networks/plan/check.h"
#include "networks/planning/planner.h"

namespace topdnn {
namespace {

constexpr std::int64_t kGradientBatch = 3;
constexpr std::int64_t kGradientClasses = 4;

Graph Branching() {
  NetworkBuilder net("branching", {kGradientBatch, {3, 7, 7}, kGradientClasses});
  ValueId x = net.BatchNorm(
      "bn0", net.input());  // the gradient of the input is not needed for its parameters
  x = net.ConvNormRelu("conv1", x, {.outputs = 5, .kernel = 3, .padding = 1});
  ValueId a = net.ConvNorm("conv2", x, {.outputs = 5, .kernel = 1});
  a = net.Relu("relu2", net.Add("add", a, x));
  const ValueId b = net.ConvRelu("conv3", x, {.outputs = 4, .kernel = 3, .padding = 1});
  const ValueId c = net.MaxPool("pool", x, {.kernel = 3, .stride = 1, .padding = 1});
  x = net.Concat("concat", {a, b, c});
  x = net.Add("twice", x, x);
  x = net.ConvRelu("conv4", x, {.outputs = 6, .kernel = 3, .stride = 2});
  net.Dense("fc", net.GlobalAveragePool("mean", x), kGradientClasses);
  return std::move(net).Take();
}

std::unique_ptr<Plan> MakeBranching(bool fuse) {
  PlanRequest request;
  request.backend = "reference";
  request.type = DataType::kF64;
  request.fuse = fuse;
  request.optimizer.learning_rate = 0;  // the step does not change the parameters
  auto plan = MakePlan(Branching(), request);
  plan->Allocate();
  InitializeParameters(*plan, 5);
  plan->Write(plan->Find(BufferRole::kInput), NormalValues(6, kGradientBatch * 3 * 7 * 7));
  plan->Write(plan->Find(BufferRole::kLabels), std::vector<double>{3, 0, 2});
  return plan;
}

double LossWith(Plan& plan, BufferId buffer, const std::vector<double>& values) {
  plan.Write(buffer, values);
  plan.Run();
  return plan.Read(plan.FindByName("loss")).front();
}

class GradientTest : public testing::TestWithParam<bool> {};

TEST_P(GradientTest, IsTheSlopeOfTheLoss) {
  const auto plan = MakeBranching(GetParam());
  plan->Run();
  std::vector<std::vector<double>> gradients;
  for (const PlanParameter& parameter : plan->parameters()) {
    gradients.push_back(plan->Read(parameter.gradient));
  }
  constexpr double kStep = 1e-5;
  int checked = 0;
  for (std::size_t p = 0; p < plan->parameters().size(); ++p) {
    const PlanParameter& parameter = plan->parameters()[p];
    const std::vector<double> values = plan->Read(parameter.value);
    const std::size_t stride = std::max<std::size_t>(1, values.size() / 7);
    for (std::size_t i = 0; i < values.size(); i += stride) {
      std::vector<double> moved = values;
      moved[i] = values[i] + kStep;
      const double above = LossWith(*plan, parameter.value, moved);
      moved[i] = values[i] - kStep;
      const double below = LossWith(*plan, parameter.value, moved);
      EXPECT_NEAR(gradients[p][i], (above - below) / (2 * kStep), 1e-7)
          << parameter.layer << " " << parameter.spec.name << " " << i;
      ++checked;
    }
    plan->Write(parameter.value, values);
  }
  EXPECT_GE(checked, 80);
}

TEST_P(GradientTest, ATrainingPlanUpdatesRunningStatistics) {
  const auto plan = MakeBranching(GetParam());
  ASSERT_EQ(plan->statistics().size(), 6u);
  plan->Run();
  // The source of bn0 is the input. After one step the running mean is 0.1 of its mean.
  const std::vector<double> input = plan->Read(plan->Find(BufferRole::kInput));
  double sum = 0;
  for (std::int64_t n = 0; n < kGradientBatch; ++n) {
    for (std::int64_t i = 0; i < 49; ++i) sum += input[static_cast<std::size_t>(n * 147 + i)];
  }
  const double mean = sum / (kGradientBatch * 49);
  EXPECT_EQ(plan->statistics()[0].layer, "bn0");
  EXPECT_NEAR(plan->Read(plan->statistics()[0].buffer)[0], 0.1 * mean, 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Fusion, GradientTest, testing::Bool());

// The gradient of x is one buffer three times, which no sum may overwrite before it has read all.
TEST(RepeatedSourceTest, TheGradientIsAddedThreeTimes) {
  const Shape image{2, 3, 5, 5};
  Graph graph("repeated");
  const ValueId x = graph.Add(
      "conv",
      std::make_shared<ConvOp>(ConvExtents{.n = 2, .c = 3, .h = 5, .w = 5, .k = 3, .r = 1, .s = 1}),
      {graph.AddInput(image)});
  const ValueId sum = graph.Add("sum", std::make_shared<AddOp>(image, 3), {x, x, x});
  graph.Add("fc", std::make_shared<InnerProductOp>(image, 4), {sum});
  for (const char* backend : {"reference", "onednn", "eigen", "openblas"}) {
    PlanRequest request;
    request.backend = backend;
    const auto plan = MakePlan(graph, request);
    plan->Allocate();
    InitializeParameters(*plan, 5);
    plan->Write(plan->Find(BufferRole::kInput), NormalValues(6, 2 * 3 * 5 * 5));
    plan->Write(plan->Find(BufferRole::kLabels), std::vector<double>{3, 0});
    int additions = 0;
    const std::vector<StageCheck> checks = CheckStages(*plan);
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const Stage& stage = plan->stages()[i];
      additions += stage.op->kind() == "add" && stage.pass == StagePass::kBackwardData ? 1 : 0;
      EXPECT_TRUE(checks[i].agrees) << backend << " " << stage.name << ": " << checks[i].reason;
    }
    EXPECT_EQ(additions, 1) << backend;
  }
}

}  // namespace
}  // namespace topdnn
