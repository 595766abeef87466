// The ways to write a network's parameters into a plan give the same results.

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/parameters/parameter_values.h"
#include "networks/planning/planner.h"
#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

// Convolutions with and without a batch normalization, with and without a bias, and a dense layer.
Graph MakeGraph() {
  NetworkBuilder net("prepared", {.batch = 2, .image = {3, 12, 12}, .classes = 5});
  ValueId x = net.ConvNormRelu("conv1", net.input(), {.outputs = 32, .kernel = 3, .padding = 1});
  x = net.ConvRelu("conv2", x, {.outputs = 24, .kernel = 3});
  x = net.BatchNorm("norm2", net.Conv("conv3", x, {.outputs = 16, .kernel = 1}));
  net.Dense("fc", net.GlobalAveragePool("mean", x), 5);
  return std::move(net).Take();
}

// Drawn parameters whose statistics are not 0 and 1.
ParameterValues Values(const Graph& graph) {
  ParameterValues values = DrawnParameters(graph, 7);
  for (auto& [key, value] : values) {
    if (!key.ends_with("/variance") && !key.ends_with("/mean")) continue;
    for (std::int64_t i = 0; i < value.shape().elements(); ++i) {
      value.as<float>()[i] += 0.25F * static_cast<float>(i % 3 + 1);
    }
  }
  return values;
}

std::unique_ptr<Plan> MakeInference(const Graph& graph, const std::string& backend, DataType type) {
  PlanRequest request;
  request.backend = backend;
  request.type = type;
  request.training = false;
  request.threads = 2;
  auto plan = MakePlan(graph, request);
  plan->Allocate();
  return plan;
}

std::vector<double> ResultOf(Plan& plan) {
  WriteRamp(plan);
  plan.Run();
  return plan.Read(plan.Find(BufferRole::kOutput));
}

struct PreparedCase {
  std::string backend;
  DataType type;
};

class PreparedParametersTest : public testing::TestWithParam<PreparedCase> {};

TEST_P(PreparedParametersTest, EachWayToWriteThemGivesTheSameResult) {
  const auto& [backend, type] = GetParam();
  const Graph graph = MakeGraph();
  std::vector<double> written;
  try {
    const auto plan = MakeInference(graph, backend, type);
    WriteParameters(*plan, Values(graph));
    written = ResultOf(*plan);
  } catch (const PlanError& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_NE(written, std::vector<double>(written.size(), 0.0));
  const auto taken = MakeInference(graph, backend, type);
  TakeParameters(*taken, Values(graph));
  EXPECT_EQ(ResultOf(*taken), written);
  const auto prepared = MakeInference(graph, backend, type);
  PrepareOnly(*prepared, Values(graph));
  EXPECT_EQ(ResultOf(*prepared), written);
}

INSTANTIATE_TEST_SUITE_P(Backends, PreparedParametersTest,
                         testing::Values(PreparedCase{"onednn", DataType::kF32},
                                         PreparedCase{"onednn", DataType::kBF16},
                                         PreparedCase{"eigen", DataType::kF32},
                                         PreparedCase{"openblas", DataType::kF32}));

TEST(PrepareOnlyTest, ReadingAnOmittedValueIsAnError) {
  const Graph graph = MakeGraph();
  const auto plan = MakeInference(graph, "onednn", DataType::kF32);
  PrepareOnly(*plan, Values(graph));
  int omitted = 0;
  for (const PlanParameter& parameter : plan->parameters()) {
    const bool of_a_norm = parameter.layer == "conv1" || parameter.layer == "conv3" ||
                           parameter.layer == "conv1.bn" || parameter.layer == "norm2";
    if (!of_a_norm) continue;
    EXPECT_THROW(plan->Read(parameter.value), std::logic_error) << parameter.layer;
    ++omitted;
  }
  EXPECT_EQ(omitted, 7);  // two weights, one bias, two scales and two shifts
}

// The layers are prepared by several threads.
TEST(PrepareOnlyTest, AFailureInAnyLayerIsThrown) {
  const Graph graph = MakeGraph();
  for (const char* layer : {"conv1.bn", "norm2"}) {
    const auto plan = MakeInference(graph, "onednn", DataType::kF32);
    ParameterValues values = Values(graph);
    values.at(ParameterKey(layer, "variance")).as<float>()[1] = -1;
    EXPECT_THROW(WriteParameters(*plan, values), std::invalid_argument) << layer;
    EXPECT_THROW(PrepareOnly(*plan, std::move(values)), std::invalid_argument) << layer;
  }
}

}  // namespace
}  // namespace topdnn
