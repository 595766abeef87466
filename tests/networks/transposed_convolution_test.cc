// A network that makes its image smaller and larger again trains on every backend as on the
// reference.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/activation/relu.h"
#include "kernels/bias/bias.h"
#include "kernels/check/tolerance.h"
#include "kernels/conv_nd/conv_nd.h"
#include "kernels/conv_transpose/conv_transpose.h"
#include "kernels/flatten/flatten.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/interpolate/interpolate.h"
#include "networks/graph/graph.h"
#include "networks/parameters/parameters.h"
#include "networks/planning/planner.h"
#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

constexpr std::int64_t kTransposedBatch = 2, kTransposedClasses = 5;

// Images of two axes, or volumes of three.
Graph MakeGraph(std::size_t axes) {
  Graph graph("transposed");
  const SpatialAxis down{.extent = 9, .kernel = 3, .stride = 2, .pad_before = 1, .pad_after = 1};
  ConvNdExtents e{
      .n = kTransposedBatch, .c = 3, .k = 8, .axes = std::vector<SpatialAxis>(axes, down)};
  const auto add = [&](const char* name, std::shared_ptr<const Op> op, ValueId from) {
    return graph.Add(name, std::move(op), {from});
  };
  const auto conv = std::make_shared<ConvNdOp>(e);
  ValueId value = add("conv", conv, graph.AddInput(conv->src_shape()));
  value = add("relu", std::make_shared<ReluOp>(graph.shape(value)), value);
  e.c = 6;
  e.groups = 2;
  value = add("transposed", std::make_shared<ConvTransposeOp>(e), value);
  value = add("bias", std::make_shared<BiasOp>(graph.shape(value)), value);
  const Shape large = graph.shape(value);
  std::vector<std::int64_t> small = large.extents();
  small.back() = 4;
  std::vector<double> scales(small.size(), 1.0);
  scales.back() = 4.0 / 9;
  value = add(
      "smaller",
      std::make_shared<InterpolateOp>(large, Shape(small), scales,
                                      InterpolateSettings{.interpolation = Interpolation::kLinear}),
      value);
  value = add("flat", std::make_shared<FlattenOp>(graph.shape(value)), value);
  add("fc", std::make_shared<InnerProductOp>(graph.shape(value), kTransposedClasses), value);
  return graph;
}

std::unique_ptr<Plan> Step(const Graph& graph, const std::string& backend) {
  PlanRequest request;
  request.backend = backend;
  request.threads = 2;
  request.optimizer.momentum = 0;
  auto plan = MakePlan(graph, request);
  plan->Allocate();
  InitializeParameters(*plan, 1, ParameterDraw::kComparison);
  plan->Write(plan->Find(BufferRole::kInput),
              NormalValues(2, static_cast<std::size_t>(graph.shape(0).elements())));
  plan->Write(plan->Find(BufferRole::kLabels), std::vector<double>{3, 1});
  plan->Run();
  return plan;
}

class TransposedConvolutionTest : public testing::TestWithParam<std::string> {};

TEST_P(TransposedConvolutionTest, TrainsAsOnTheReference) {
  for (const std::size_t axes : {2, 3}) {
    const Graph graph = MakeGraph(axes);
    const auto plan = Step(graph, GetParam());
    const auto reference = Step(graph, "reference");
    ASSERT_EQ(plan->parameters().size(), 5u);
    for (std::size_t i = 0; i < plan->parameters().size(); ++i) {
      const PlanParameter& parameter = plan->parameters()[i];
      EXPECT_LT(RelativeError(plan->Read(parameter.gradient),
                              reference->Read(reference->parameters()[i].gradient)),
                1e-4)
          << parameter.layer << " " << parameter.spec.name << " of " << axes << " axes";
    }
    ExpectStagesAgree(*plan);  // compares each stage with the reference on the same inputs
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, TransposedConvolutionTest,
                         testing::Values("onednn", "openblas", "eigen", "eigen-sgemm"),
                         [](const auto& test) {
                           return test.param == "eigen-sgemm" ? "eigen_sgemm" : test.param;
                         });

}  // namespace
}  // namespace topdnn
