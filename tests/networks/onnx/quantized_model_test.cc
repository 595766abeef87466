// Quantized models, and the way from a float network to one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/kernel/registry.h"
#include "kernels/op/problem.h"
#include "kernels/pool/pool.h"
#include "kernels/quantization/quantize.h"
#include "kernels/quantization/quantized_layer.h"
#include "networks/graph/builder.h"
#include "networks/onnx/export/exporter.h"
#include "networks/onnx/import/importer.h"
#include "networks/parameters/parameters.h"
#include "networks/plan/check.h"
#include "networks/planning/planner.h"
#include "networks/quantization/calibration.h"
#include "networks/quantization/quantized_graph.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"
#include "tests/networks/onnx/sample_graphs.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> KindsOf(const Graph& graph) {
  std::vector<std::string> kinds;
  for (const GraphNode& node : graph.nodes()) kinds.emplace_back(node.op->kind());
  return kinds;
}

// Whether oneDNN has integer layers on this CPU.
bool OneDnnHasIntegers() {
  const std::shared_ptr<const Op> op = ParseProblem("quantized_conv/n1c16h4k16r1_srcu8_dstu8");
  return std::holds_alternative<std::unique_ptr<Kernel>>(
      MakeKernel("onednn", {op, {Pass::kForward, false, DataType::kU8}, 1, {}, ""}));
}

std::vector<double> NoiseFor(const Graph& graph, std::uint64_t seed) {
  return NormalValues(seed, static_cast<std::size_t>(graph.shape(0).elements()));
}

// Scales by channel and for all, u8 around 128, a bias in s32, constants that the file quantizes.
TEST(QuantizedModelTest, AModelOfAnotherExporterComputesInIntegers) {
  const ImportedNetwork network = ImportOnnx(QuantizedModel(), {.batch = 2});
  EXPECT_THAT(KindsOf(network.graph),
              ElementsAre("quantize", "quantized_conv", "pool", "quantized_inner_product"));
  const auto& conv = dynamic_cast<const QuantizedLayerOp&>(*network.graph.nodes()[1].op);
  EXPECT_EQ(conv.requantization().src, DataType::kS8);  // u8 around 128
  EXPECT_EQ(conv.requantization().dst, DataType::kU8);
  EXPECT_FLOAT_EQ(conv.requantization().scales[3], 0.03125F * 0.04F / 0.0625F);
  EXPECT_EQ(network.parameters.at("conv/weights").as<float>()[1], 37.0F - 128.0F);
  EXPECT_EQ(network.parameters.at("conv/bias").as<float>()[2], 50.0F);
  const std::vector<double> input = NoiseFor(network.graph, 3);
  const auto reference = RunGraph(network.graph, network.parameters, input);
  if (!OneDnnHasIntegers()) GTEST_SKIP() << "oneDNN needs VNNI or AMX for exact integers";
  EXPECT_EQ(RunGraph(network.graph, network.parameters, input, "onednn"), reference);
}

// A network with folded normalizations, bounded ReLUs, both kinds of shortcut, and layers that
// stay in f32.
Graph ResidualNetwork() {
  NetworkBuilder net("residual", {.batch = 4, .image = {3, 12, 12}, .classes = 6});
  ValueId x = net.ConvNormRelu("stem", net.input(), {.outputs = 16, .kernel = 3, .padding = 1});
  const ValueId pooled = net.MaxPool("pool", x, {.kernel = 2, .stride = 2});
  ValueId y =
      net.ConvNormRelu("a1", pooled, {.outputs = 16, .kernel = 3, .padding = 1}, 1e-5F, 6.0F);
  y = net.ConvNorm("a2", y, {.outputs = 16, .kernel = 3, .padding = 1});
  x = net.Relu("a.relu", net.Add("a.add", y, pooled));
  y = net.ConvNorm("c1", x, {.outputs = 16, .kernel = 3, .padding = 1});
  x = net.Relu("c.relu", net.Add("c.add", y, pooled));  // the second reader of this shortcut
  y = net.ConvNormRelu("b1", x, {.outputs = 24, .kernel = 3, .stride = 2, .padding = 1});
  y = net.ConvNorm("b2", y, {.outputs = 24, .kernel = 1});
  const ValueId shortcut = net.ConvNorm("b.short", x, {.outputs = 24, .kernel = 1, .stride = 2});
  x = net.Relu("b.relu", net.Add("b.add", y, shortcut));
  x = net.Dropout("drop", net.GlobalAveragePool("mean", x), 0.5F);
  x = net.Relu("fc1.relu", net.Dense("fc1", x, 12), 2.0F);
  net.Dense("fc2", x, 6);
  return std::move(net).Take();
}

struct QuantizedResidual {
  Graph graph = ResidualNetwork();
  std::vector<double> input = NoiseFor(graph, 7);
  std::vector<double> in_f32 = RunGraph(graph, DrawnParameters(graph, 5), input);
  QuantizedNetwork network;

  explicit QuantizedResidual(RangeRule rule = {})
      : network(InferenceGraph(graph, DrawnParameters(graph, 5))) {
    PlanRequest request;
    request.training = false;
    request.fuse = false;
    const auto plan = MakePlan(network.graph, request);
    plan->Allocate();
    WriteParameters(*plan, network.parameters);
    Calibration calibration(*plan, rule);
    for (const std::uint64_t seed : {7, 8}) {
      plan->Write(plan->Find(BufferRole::kInput), NoiseFor(graph, seed));
      calibration.RunStep();
    }
    network = QuantizedGraph(std::move(network), calibration.Ranges());
  }

  ImportedNetwork Imported() const {
    return ImportOnnx(ExportOnnx(network.graph, network.parameters, network.scales),
                      {.batch = graph.shape(0)[0]});
  }
};

double LargestDifference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0, scale = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return largest / scale;
}

TEST(QuantizedModelTest, AFloatNetworkIsQuantizedWrittenAndReadAgain) {
  const QuantizedResidual residual;
  const ImportedNetwork integers = residual.Imported();
  EXPECT_THAT(KindsOf(integers.graph),
              ElementsAre("quantize", "quantized_conv", "pool", "quantized_conv", "quantized_conv",
                          "quantized_conv", "quantized_conv", "quantized_conv", "quantized_conv",
                          "dequantize", "pool", "quantize", "quantized_inner_product",
                          "quantized_inner_product"));
  const auto result = RunGraph(integers.graph, integers.parameters, residual.input);
  EXPECT_LT(LargestDifference(result, residual.in_f32), 0.1);
  // The same arithmetic in f32, as the file has it: only ties can round in another way.
  ParameterValues rounded;
  for (const auto& [key, tensor] : residual.network.parameters) {
    rounded[key] = Tensor(tensor.shape());
    std::copy_n(tensor.as<float>(), tensor.shape().elements(), rounded[key].as<float>());
  }
  for (const auto& [layer, scales] : residual.network.scales) {
    Tensor& weights = rounded.at(ParameterKey(layer, "weights"));
    const auto of_channel = weights.shape().elements() / weights.shape()[0];
    for (std::int64_t i = 0; i < weights.shape().elements(); ++i) {
      const float scale = scales[static_cast<std::size_t>(i / of_channel)];
      weights.as<float>()[i] = std::nearbyint(weights.as<float>()[i] / scale) * scale;
    }
  }
  const auto emulated = RunGraph(residual.network.graph, rounded, residual.input);
  EXPECT_LT(LargestDifference(result, emulated), 0.02);
}

TEST(QuantizedModelTest, EveryStageOnOneDnnIsExact) {
  if (!OneDnnHasIntegers()) GTEST_SKIP() << "oneDNN needs VNNI or AMX for exact integers";
  const QuantizedResidual residual;
  const ImportedNetwork integers = residual.Imported();
  for (const int threads : {1, 2}) {
    PlanRequest request;
    request.training = false;
    request.threads = threads;
    const auto plan = MakePlan(integers.graph, request);
    plan->Allocate();
    WriteParameters(*plan, integers.parameters);
    plan->Write(plan->Find(BufferRole::kInput), residual.input);
    int exact = 0;
    const std::vector<StageCheck> checks = CheckStages(*plan);
    for (std::size_t i = 0; i < checks.size(); ++i) {
      EXPECT_TRUE(checks[i].agrees) << plan->stages()[i].name << ": " << checks[i].reason;
      if (plan->stages()[i].op->kind() != "quantized_conv") continue;
      EXPECT_EQ(checks[i].tolerance, 0) << plan->stages()[i].name;
      exact += checks[i].error == 0 && !checks[i].mostly_zero ? 1 : 0;
    }
    EXPECT_EQ(exact, 7);
    EXPECT_EQ(plan->Read(plan->Find(BufferRole::kOutput)),
              RunGraph(integers.graph, integers.parameters, residual.input));
  }
}

// The weight 1e-7 has the scale 1e-7 / 127. With the source's scale 0.01, the bias 1 would be
// 1.3e11 units, which s32 does not have.
TEST(QuantizedModelTest, ABiasFarAboveTheWeightsOfItsChannelKeepsItsValue) {
  NetworkBuilder net("bias", {.batch = 1, .image = {1, 1, 2}, .classes = 2});
  net.Conv("conv", net.input(), {.outputs = 2, .kernel = 1});
  Graph graph = std::move(net).Take();
  ParameterValues values = DrawnParameters(graph, 1);
  float* const weights = values.at("conv/weights").as<float>();
  float* const bias = values.at("conv/bias").as<float>();
  weights[0] = 1e-7F;
  bias[0] = 1.0F;
  weights[1] = 0.5F;
  bias[1] = 0.25F;
  const QuantizedNetwork network =
      QuantizedGraph({std::move(graph), std::move(values)}, {{"input", {0, 2.55F}}});
  const ImportedNetwork integers =
      ImportOnnx(ExportOnnx(network.graph, network.parameters, network.scales), {});
  EXPECT_THAT(KindsOf(integers.graph), ElementsAre("quantize", "quantized_conv"));
  const auto result = RunGraph(integers.graph, integers.parameters, {1, 2});
  EXPECT_NEAR(result.at(0), 1, 1e-5);
  EXPECT_NEAR(result.at(1), 1, 1e-5);
  EXPECT_NEAR(result.at(2), 0.75, 1e-3);
  EXPECT_NEAR(result.at(3), 1.25, 1e-3);
}

// A pooling between two different scales cannot read the integers of the first.
TEST(QuantizedModelTest, APoolingBetweenTwoScalesComputesInF32) {
  const Quantization a{DataType::kS8, 0.5F}, b{DataType::kS8, 0.25F};
  Graph graph("scales");
  const Shape image{1, 2, 4, 4}, pooled{1, 2, 2, 2};
  const auto add = [&](const char* name, std::shared_ptr<const Op> op, ValueId input) {
    return graph.Add(name, std::move(op), {input});
  };
  const auto step = [](QuantizeOp::Step what, const Shape& shape, const Quantization& q) {
    return std::make_shared<QuantizeOp>(what, shape, q);
  };
  ValueId x = add("q", step(QuantizeOp::Step::kQuantize, image, a), graph.AddInput(image));
  x = add("d", step(QuantizeOp::Step::kDequantize, image, a), x);
  x = add("pool",
          std::make_shared<PoolOp>(PoolAlgorithm::kMax,
                                   PoolExtents{.c = 2, .h = 4, .w = 4, .r = 3, .s = 3}),
          x);
  x = add("q2", step(QuantizeOp::Step::kQuantize, pooled, b), x);
  add("d2", step(QuantizeOp::Step::kDequantize, pooled, b), x);
  EXPECT_THAT(KindsOf(IntegerGraph({std::move(graph), {}}).graph),
              ElementsAre("quantize", "dequantize", "pool", "quantize", "dequantize"));
}

// The ranges of 99 % of the elements are smaller, so the scales are smaller, too.
TEST(QuantizedModelTest, APercentileMakesSmallerScales) {
  const auto scale_of_input = [](const QuantizedResidual& residual) {
    return dynamic_cast<const QuantizeOp&>(*residual.network.graph.nodes()[0].op)
        .quantization()
        .scale;
  };
  const float all = scale_of_input(QuantizedResidual());
  const float most = scale_of_input(QuantizedResidual({.percentile = 99}));
  EXPECT_LT(most, 0.9F * all);
  EXPECT_NEAR(most, 2.576F / 127, 0.1F * most);  // the normal distribution's
}

// A range by entropy is symmetric, or begins at 0, and is at most that of all elements.
TEST(QuantizedModelTest, EntropyChoosesARangeWithinAllElements) {
  const QuantizedResidual all, chosen({.entropy = true});
  ASSERT_EQ(chosen.network.graph.nodes().size(), all.network.graph.nodes().size());
  bool smaller = false;
  for (std::size_t i = 0; i < all.network.graph.nodes().size(); ++i) {
    const auto* of_all = dynamic_cast<const QuantizeOp*>(all.network.graph.nodes()[i].op.get());
    if (of_all == nullptr) continue;
    const auto& of_chosen = dynamic_cast<const QuantizeOp&>(*chosen.network.graph.nodes()[i].op);
    EXPECT_EQ(of_chosen.quantization().type, of_all->quantization().type);
    EXPECT_GT(of_chosen.quantization().scale, 0);
    EXPECT_LE(of_chosen.quantization().scale, of_all->quantization().scale * 1.01F);
    smaller |= of_chosen.quantization().scale < 0.95F * of_all->quantization().scale;
  }
  EXPECT_TRUE(smaller);
  const ImportedNetwork imported = chosen.Imported();
  const auto in_integers = RunGraph(imported.graph, imported.parameters, chosen.input);
  EXPECT_LT(LargestDifference(in_integers, chosen.in_f32), 0.2);
}

TEST(QuantizedModelTest, WhatIsNotSupportedIsNamed) {
  const auto model = [](int zero_point, float scale, const char* reader) {
    ModelBuilder builder(13);
    builder.Input("x", {1, 2, 4, 4}).Output("y");
    builder.Floats("s", {}, {scale});
    builder.Integers("z", onnx::TensorProto::UINT8, {}, zero_point);
    builder.Node("QuantizeLinear", "q", {"x", "s", "z"});
    builder.Node(reader, "y", {"q", "s", "z"});
    return builder.Bytes();
  };
  EXPECT_THAT(RefusalOf(model(0, 0.0F, "DequantizeLinear")), HasSubstr("not above 0"));
  EXPECT_THAT(RefusalOf(model(0, NAN, "DequantizeLinear")), HasSubstr("not above 0"));
  EXPECT_THAT(RefusalOf(model(0, 1.0F, "Relu")), HasSubstr("is of uint8"));
  EXPECT_THAT(RefusalOf(model(3, 1.0F, "QuantizeLinear")), HasSubstr("is of uint8"));
}

// One unit of a sum is 0.5 times 0.25. An integer layer would take the bias 0.1 as 0.125.
TEST(QuantizedModelTest, ABiasThatIsNoWholeNumberOfUnitsKeepsItsValue) {
  for (const float bias : {0.1F, 0.25F}) {
    ModelBuilder model(13);
    model.Input("x", {1, 1, 1, 2}).Output("y");
    model.Floats("xs", {}, {0.5F});
    model.Integers("zero", onnx::TensorProto::UINT8, {}, 0);
    model.Node("QuantizeLinear", "xq", {"x", "xs", "zero"});
    model.Node("DequantizeLinear", "xd", {"xq", "xs", "zero"});
    model.Integers("w", onnx::TensorProto::INT8, {1, 1, 1, 1}, 4);
    model.Floats("ws", {}, {0.25F});
    model.Node("DequantizeLinear", "wd", {"w", "ws"});
    model.Floats("b", {1}, {bias});
    model.Node("Conv", "y", {"xd", "wd", "b"});
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    EXPECT_EQ(network.graph.nodes().back().op->kind(), bias == 0.25F ? "quantized_conv" : "conv");
    const auto result = RunGraph(network.graph, network.parameters, {1, 2});
    EXPECT_NEAR(result.at(0), 1 + static_cast<double>(bias), 1e-6);
    EXPECT_NEAR(result.at(1), 2 + static_cast<double>(bias), 1e-6);
  }
}

}  // namespace
}  // namespace topdnn
