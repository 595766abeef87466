// A plan whose stages run on several widths in one step computes what the plan computes by itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "kernels/kernel/thread_width.h"
#include "networks/plan/width_kernels.h"
#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

// The second step shows the first update. A batch normalization of two small images amplifies a
// difference in rounding by orders of magnitude from step to step, so later steps would not agree.
constexpr int kSteps = 2;
constexpr int kPlanThreads = 2;

// The loss in training, and the sum of the output's absolute values in inference.
double ResultOf(const Plan& plan) {
  const bool trains = plan.Has(BufferRole::kLabels);
  double sum = 0;
  for (const double value :
       plan.Read(trains ? plan.FindByName("loss") : plan.Find(BufferRole::kOutput))) {
    sum += std::abs(value);
  }
  return sum;
}

std::vector<double> OwnResults(const std::string& network, const PlanRequest& request) {
  const auto plan = MakeSmall(network, request);
  std::vector<double> results;
  for (int step = 0; step < kSteps; ++step) {
    plan->Run();
    results.push_back(ResultOf(*plan));
  }
  return results;
}

std::vector<double> ResultsAtRandomWidths(const std::string& network, const PlanRequest& request,
                                          unsigned seed) {
  const auto plan = MakeSmall(network, request);
  std::vector<std::unique_ptr<WidthKernels>> kernels;
  for (const int width : {1, 2, 3}) kernels.push_back(std::make_unique<WidthKernels>(*plan, width));
  std::mt19937 random(seed);
  std::vector<double> results;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t stage = 0; stage < plan->stages().size(); ++stage) {
      const WidthKernels& chosen = *kernels[random() % kernels.size()];
      const ThreadWidth width(chosen.WidthOf(stage));
      chosen.RunStage(stage);
    }
    results.push_back(ResultOf(*plan));
  }
  return results;
}

// Network, backend, whether it trains.
class WidthKernelsTest : public testing::TestWithParam<std::tuple<std::string, std::string, bool>> {
};

TEST_P(WidthKernelsTest, AgreeAtRandomWidths) {
  const auto& [network, backend, trains] = GetParam();
  PlanRequest request;
  request.backend = backend;
  request.training = trains;
  request.threads = kPlanThreads;
  request.optimizer.learning_rate = 1e-3F;
  if (backend != "onednn") request.fallback = {"onednn", "reference"};
  const std::vector<double> expected = OwnResults(network, request);
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const std::vector<double> results = ResultsAtRandomWidths(network, request, seed);
    for (int step = 0; step < kSteps; ++step) {
      const double own = expected[static_cast<std::size_t>(step)];
      EXPECT_NEAR(results[static_cast<std::size_t>(step)], own, 1e-4 * own)
          << "step " << step << ", seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, WidthKernelsTest,
    testing::Combine(testing::Values("lenet5", "cnn", "googlenet", "mobilenet_v2"),
                     testing::Values("onednn", "eigen", "openblas"), testing::Bool()),
    [](const auto& tested) {
      return std::get<0>(tested.param) + "_" + std::get<1>(tested.param) +
             (std::get<2>(tested.param) ? "_train" : "_infer");
    });

TEST(WidthKernels, OfThePlansOwnWidthAreThePlans) {
  PlanRequest request;
  request.threads = kPlanThreads;
  const auto plan = MakeSmall("lenet5", request);
  const WidthKernels own(*plan, kPlanThreads);
  const WidthKernels other(*plan, 1);
  EXPECT_TRUE(own.kept().empty());
  for (std::size_t stage = 0; stage < plan->stages().size(); ++stage) {
    EXPECT_EQ(&own.KernelOf(stage), plan->stages()[stage].kernel.get());
    EXPECT_EQ(own.WidthOf(stage), kPlanThreads);
  }
}

TEST(WidthKernels, HaveTheImplementationsOfThePlan) {
  PlanRequest request;
  request.threads = kPlanThreads;
  const auto plan = MakeSmall("lenet5", request);
  const WidthKernels narrow(*plan, 1);
  EXPECT_TRUE(narrow.kept().empty());
  for (std::size_t stage = 0; stage < plan->stages().size(); ++stage) {
    EXPECT_EQ(narrow.WidthOf(stage), 1);
    EXPECT_THAT(narrow.KernelOf(stage).implementation(), testing::Not(testing::StartsWith("ref")))
        << plan->stages()[stage].name;
  }
}

TEST(WidthKernels, AreMadeWhileThePlanRuns) {
  PlanRequest request;
  request.threads = kPlanThreads;
  const std::vector<double> expected = OwnResults("lenet5", request);
  const auto plan = MakeSmall("lenet5", request);
  std::thread maker([&plan] {
    for (const int width : {1, 3, 4}) const WidthKernels made(*plan, width);
  });
  std::vector<double> results;
  for (int step = 0; step < kSteps; ++step) {
    plan->Run();
    results.push_back(ResultOf(*plan));
  }
  maker.join();
  EXPECT_EQ(results, expected);
}

TEST(PlanState, IsRestored) {
  const auto plan = MakeSmall("lenet5");
  const auto state = plan->SaveState();
  plan->Run();
  const double first = ResultOf(*plan);
  plan->Run();
  EXPECT_NE(ResultOf(*plan), first);
  plan->RestoreState(state);
  plan->Run();
  EXPECT_EQ(ResultOf(*plan), first);
  EXPECT_THROW(plan->RestoreState({}), std::invalid_argument);
}

}  // namespace
}  // namespace topdnn
