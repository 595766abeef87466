#include "networks/parameters/cancelled_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/parameters/parameters.h"
#include "networks/planning/planner.h"

namespace topdnn {
namespace {

constexpr std::int64_t kCancelledBatch = 4;
constexpr std::int64_t kCancelledClasses = 3;

std::vector<std::string> NamesOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [node, arg] : CancelledParameters(graph)) {
    names.push_back(graph.nodes()[static_cast<std::size_t>(node)].name + "." + NameOf(arg));
  }
  return names;
}

// Two linear bottlenecks with a shortcut, as in MobileNetV2, and layers that keep other shifts
// effective: a ReLU, padding, a pooling, the output.
Graph Bottlenecks() {
  NetworkBuilder net("bottlenecks", {kCancelledBatch, {3, 6, 6}, kCancelledClasses});
  ValueId x =
      net.BatchNorm("cancelled1", net.Conv("cancelled0", net.input(), {.outputs = 5, .kernel = 1}));
  const ValueId inner =
      net.ConvNormRelu("expand", x, {.outputs = 4, .kernel = 1});  // a ReLU follows its shift
  const ValueId y =
      net.BatchNorm("cancelled2", net.Conv("project", inner, {.outputs = 5, .kernel = 1}));
  x = net.Add("shortcut", x, y);
  x = net.ConvNorm("before_padding", x, {.outputs = 4, .kernel = 1});
  x = net.ConvNorm("before_pooling", x, {.outputs = 4, .kernel = 3, .padding = 1});
  x = net.Conv("to_output", net.AveragePool("pool", x, {.kernel = 2, .stride = 2}),
               {.outputs = 4, .kernel = 3});
  net.Dense("dense", x, kCancelledClasses);
  return std::move(net).Take();
}

TEST(CancelledParametersTest, OnlyBatchNormalizationsReadThem) {
  EXPECT_THAT(NamesOf(Bottlenecks()),
              testing::UnorderedElementsAre("cancelled0.bias", "cancelled1.shift", "project.bias",
                                            "cancelled2.shift"));
}

TEST(CancelledParametersTest, TheyDoNotChangeTheLossAndTheirGradientIsZero) {
  PlanRequest request;
  request.backend = "reference";
  request.type = DataType::kF64;
  request.optimizer.learning_rate = 0;
  const auto plan = MakePlan(Bottlenecks(), request);
  plan->Allocate();
  InitializeParameters(*plan, 5);
  plan->Write(plan->Find(BufferRole::kInput), NormalValues(6, kCancelledBatch * 3 * 6 * 6));
  plan->Write(plan->Find(BufferRole::kLabels), std::vector<double>{2, 0, 1, 0});
  const auto loss = [&plan] {
    plan->Run();
    return plan->Read(plan->FindByName("loss")).front();
  };
  const double before = loss();
  int cancelled = 0;
  for (const PlanParameter& parameter : plan->parameters()) {
    SCOPED_TRACE(parameter.layer + " " + parameter.spec.name);
    const std::vector<double> values = plan->Read(parameter.value);
    std::vector<double> moved = values;
    moved.front() += 0.5;
    plan->Write(parameter.value, moved);
    const double change = std::abs(loss() - before);
    const std::vector<double> gradient = plan->Read(parameter.gradient);
    plan->Write(parameter.value, values);
    if (parameter.cancelled) {
      ++cancelled;
      EXPECT_LT(change, 1e-12);
      EXPECT_THAT(gradient, testing::Each(0.0));
    } else {
      EXPECT_GT(change, 1e-9);
    }
  }
  EXPECT_EQ(cancelled, 4);
}

}  // namespace
}  // namespace topdnn
