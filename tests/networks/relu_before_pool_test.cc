// The gradient of a ReLU whose result only a max pooling reads: on oneDNN it is computed on the
// pooling's result, before the pooling's gradient.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/parameters/parameters.h"
#include "networks/planning/planner.h"

namespace topdnn {
namespace {

constexpr std::int64_t kPooledBatch = 3;

enum class Reader { kPool, kPoolAndAddition, kAveragePool };

// A convolution with a ReLU (bounded or not) and a pooling of windows that overlap.
Graph ReluAndPool(Reader reader, float bound = 0) {
  NetworkBuilder net("relu_and_pool", {kPooledBatch, {3, 8, 8}, 4});
  const ValueId conv = net.Conv("conv", net.input(), {.outputs = 16, .kernel = 3, .padding = 1});
  const ValueId relu = net.Relu("relu", conv, bound);
  const PoolLayer window = {.kernel = 3, .stride = 1, .padding = 1};
  ValueId x = reader == Reader::kAveragePool ? net.AveragePool("pool", relu, window)
                                             : net.MaxPool("pool", relu, window);
  if (reader == Reader::kPoolAndAddition) x = net.Add("sum", x, relu);
  net.Dense("fc", x, 4);
  return std::move(net).Take();
}

std::unique_ptr<Plan> StepOf(const Graph& graph, const std::string& backend, bool fuse = true) {
  PlanRequest request;
  request.backend = backend;
  request.fuse = fuse;
  request.optimizer.learning_rate = 0;
  auto plan = MakePlan(graph, request);
  plan->Allocate();
  InitializeParameters(*plan, 3);
  plan->Write(plan->Find(BufferRole::kInput), NormalValues(4, kPooledBatch * 3 * 8 * 8));
  plan->Write(plan->Find(BufferRole::kLabels), std::vector<double>{3, 0, 2});
  plan->Run();
  return plan;
}

// "relu" and "pool" in the order of their backward stages.
std::vector<std::string> OrderOf(const Plan& plan) {
  std::vector<std::string> order;
  for (const Stage& stage : plan.stages()) {
    if (stage.pass == StagePass::kBackwardData && stage.name != "fc" && stage.name != "conv") {
      order.push_back(stage.name);
    }
  }
  return order;
}

TEST(ReluBeforePoolTest, TheGradientIsThatOfTheUnfusedPlan) {
  for (const float bound : {0.0F, 1.0F}) {
    const Graph graph = ReluAndPool(Reader::kPool, bound);
    const auto plan = StepOf(graph, "onednn");
    const auto unfused = StepOf(graph, "onednn", false);
    EXPECT_EQ(OrderOf(*plan), (std::vector<std::string>{"relu", "pool"}));
    EXPECT_EQ(OrderOf(*unfused), (std::vector<std::string>{"pool", "relu"}));
    for (std::size_t i = 0; i < plan->parameters().size(); ++i) {
      const std::vector<double> gradient = plan->Read(plan->parameters()[i].gradient);
      const std::vector<double> expected = unfused->Read(unfused->parameters()[i].gradient);
      EXPECT_GT(std::count_if(gradient.begin(), gradient.end(), [](double g) { return g != 0; }),
                3);
      for (std::size_t j = 0; j < gradient.size(); ++j) {
        ASSERT_NEAR(gradient[j], expected[j], 1e-5) << plan->parameters()[i].layer << " " << j;
      }
    }
  }
}

TEST(ReluBeforePoolTest, OnlyWhereThePoolingAloneReadsTheMaximum) {
  const std::vector<std::string> own_place = {"pool", "relu"};
  EXPECT_EQ(OrderOf(*StepOf(ReluAndPool(Reader::kAveragePool), "onednn")), own_place);
  const auto order = OrderOf(*StepOf(ReluAndPool(Reader::kPoolAndAddition), "onednn"));
  EXPECT_EQ(order.back(), "relu");
}

TEST(ReluBeforePoolTest, BackendsOfFrameworksKeepTheirOrder) {
  for (const std::string backend : {"eigen", "openblas", "reference"}) {
    EXPECT_EQ(OrderOf(*StepOf(ReluAndPool(Reader::kPool), backend)),
              (std::vector<std::string>{"pool", "relu"}))
        << backend;
  }
}

}  // namespace
}  // namespace topdnn
