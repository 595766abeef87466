#include "bench/profile/limits/efficiency.h"

#include <gtest/gtest.h>

#include <vector>

#include "harness/statistics/summary.h"
#include "networks/graph/zoo.h"
#include "networks/planning/planner.h"

namespace topdnn {
namespace {

TEST(EfficiencyTest, PublishedSharesAreThoseOfThePaper) {
  EXPECT_NEAR(PublishedFor("alexnet")->Share(), 0.938, 5e-4);
  EXPECT_NEAR(PublishedFor("googlenet:bn")->Share(), 0.906, 5e-4);
  EXPECT_NEAR(PublishedFor("resnet50")->Share(), 0.953, 5e-4);
  EXPECT_FALSE(PublishedFor("cnn"));
  EXPECT_FALSE(PublishedFor("resnet5"));
}

TEST(EfficiencyTest, CountsTwoOperationsPerMultiplyAccumulate) {
  const NetworkOffer& offer = *FindNetwork("cnn");
  const Graph graph = offer.build({.batch = 4, .image = offer.image, .classes = offer.classes});
  PlanRequest request;
  request.training = false;
  const auto plan = MakePlan(graph, request);
  Report report;
  report.items_per_step = 4;
  report.step.seconds = Summarize(std::vector<double>{0.5});
  EXPECT_FALSE(EfficiencyOf(*plan, report)) << "there is no ceiling";
  report.step.ceiling_flops_per_second = 1e9;
  const auto efficiency = EfficiencyOf(*plan, report);
  ASSERT_TRUE(efficiency);
  EXPECT_DOUBLE_EQ(efficiency->operations, 2.0 * static_cast<double>(graph.Totals().macs));
  EXPECT_DOUBLE_EQ(efficiency->Share(), efficiency->operations / 0.5 / 1e9);
  EXPECT_DOUBLE_EQ(efficiency->images_per_second, 8.0);
}

}  // namespace
}  // namespace topdnn
