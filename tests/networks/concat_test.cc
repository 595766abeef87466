// A concatenation that needs no copy has no stage, and does not change a result.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"
#include "networks/parameters/parameters.h"
#include "networks/planning/planner.h"

namespace topdnn {
namespace {

// A plan of the graph that has run on copies of the same image. `variant` is a backend, or oneDNN's
// variant with blocked channels.
std::unique_ptr<Plan> RunOnEqualImages(const Graph& graph, const std::string& variant,
                                       bool training) {
  PlanRequest request;
  request.backend = variant.substr(0, variant.find('-'));
  if (request.backend != variant) {
    for (const GraphNode& node : graph.nodes()) {
      for (const Pass pass : kAllPasses) request.variants[{node.name, pass}] = {variant};
    }
  }
  request.training = training;
  request.dropout = false;
  request.threads = 2;
  request.optimizer.momentum = 0;
  auto plan = MakePlan(graph, request);
  plan->Allocate();
  InitializeParameters(*plan, 1);
  const Shape& input = graph.shape(0);
  const std::int64_t batch = input[0];
  const auto pixels = static_cast<std::size_t>(input.elements() / batch);
  const std::vector<double> image = NormalValues(2, pixels);
  std::vector<double> images;
  for (std::int64_t i = 0; i < batch; ++i) images.insert(images.end(), image.begin(), image.end());
  plan->Write(plan->Find(BufferRole::kInput), images);
  if (training) {
    plan->Write(plan->Find(BufferRole::kLabels),
                std::vector<double>(static_cast<std::size_t>(batch), 3));
  }
  plan->Run();
  return plan;
}

// The smallest GoogLeNet.
std::unique_ptr<Plan> MakePlanFor(std::int64_t batch, const std::string& variant, bool training) {
  const NetworkOffer& network = *FindNetwork("googlenet");
  return RunOnEqualImages(network.build({batch, network.small, 10}), variant, training);
}

std::ptrdiff_t Concats(const Plan& plan) {
  return std::count_if(plan.stages().begin(), plan.stages().end(),
                       [](const Stage& stage) { return stage.op->kind() == "concat"; });
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b, std::size_t n,
                const std::string& what) {
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(b[i]));
  for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(a[i], b[i], 1e-4 * largest) << what << " " << i;
}

class ConcatTest : public testing::TestWithParam<std::string> {};

TEST_P(ConcatTest, OneImageInPlaceGivesTheSameAsTwoImagesWithCopies) {
  const auto one = MakePlanFor(1, GetParam(), false);
  const auto two = MakePlanFor(2, GetParam(), false);
  EXPECT_EQ(Concats(*two), 9);
  // In channels-last layouts, which eigen uses and oneDNN may choose, the parts are interleaved.
  if (GetParam() != "eigen" && GetParam() != "onednn") {
    EXPECT_EQ(Concats(*one), 0);
    EXPECT_EQ(one->dropped().size(), two->dropped().size() + 9);
  }
  ExpectNear(one->Read(one->Find(BufferRole::kOutput)), two->Read(two->Find(BufferRole::kOutput)),
             10, "logits");
}

// A part of the inner concatenation is read after a layer that works in place on the outer one.
TEST_P(ConcatTest, AReaderOfAnInnerPartSeesItAsItWas) {
  const auto run = [&](std::int64_t batch) {
    NetworkBuilder net("nested", {batch, {16, 4, 4}, 10});
    const ConvLayer conv = {.outputs = 16, .kernel = 1};
    const ValueId a = net.Conv("a", net.input(), conv);
    const ValueId inner = net.Concat("inner", {a, net.Conv("b", net.input(), conv)});
    const ValueId outer = net.Concat("outer", {inner, net.Conv("c", net.input(), conv)});
    const ValueId y = net.Conv("d", net.Relu("relu", outer), conv);
    net.Add("sum", y, a);
    return RunOnEqualImages(std::move(net).Take(), GetParam(), false);
  };
  const auto one = run(1);
  const auto two = run(2);
  ExpectNear(one->Read(one->Find(BufferRole::kOutput)), two->Read(two->Find(BufferRole::kOutput)),
             256, "sum");
}

TEST_P(ConcatTest, GradientsAreThoseOfTheMeanOverEqualImages) {
  const auto one = MakePlanFor(1, GetParam(), true);
  const auto two = MakePlanFor(2, GetParam(), true);
  ASSERT_EQ(one->parameters().size(), two->parameters().size());
  for (std::size_t i = 0; i < one->parameters().size(); ++i) {
    const PlanParameter& parameter = one->parameters()[i];
    const std::vector<double> gradient = one->Read(parameter.gradient);
    ExpectNear(gradient, two->Read(two->parameters()[i].gradient), gradient.size(),
               parameter.layer + "." + parameter.spec.name);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ConcatTest,
                         testing::Values("onednn", "onednn-blocked", "openblas", "eigen",
                                         "reference"),
                         [](const testing::TestParamInfo<std::string>& tested) {
                           return tested.param == "onednn-blocked" ? "onednn_blocked"
                                                                   : tested.param;
                         });

// Calibration needs the result of each layer. With fusion, this plan has no concatenation.
TEST(ConcatPlanTest, EveryConcatenationIsAStageWithoutFusion) {
  const NetworkOffer& network = *FindNetwork("googlenet");
  PlanRequest request;
  request.backend = "reference";
  request.training = false;
  request.fuse = false;
  EXPECT_EQ(Concats(*MakePlan(network.build({1, network.small, 10}), request)), 9);
}

}  // namespace
}  // namespace topdnn
