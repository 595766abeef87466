// An exported network that is imported again is the same network.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/activation/relu.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/conv/conv.h"
#include "kernels/eltwise/unary.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/reorder/reorder.h"
#include "kernels/slice/slice.h"
#include "kernels/topk/topk.h"
#include "kernels/transpose/transpose.h"
#include "networks/graph/zoo.h"
#include "networks/onnx/export/exporter.h"
#include "networks/onnx/import/importer.h"
#include "networks/parameters/parameters.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"
#include "tests/networks/onnx/sample_graphs.h"

namespace topdnn {
namespace {

void ExpectSame(const Graph& actual, const Graph& expected) {
  ASSERT_EQ(actual.nodes().size(), expected.nodes().size());
  for (std::size_t i = 0; i < actual.nodes().size(); ++i) {
    const GraphNode& a = actual.nodes()[i];
    const GraphNode& b = expected.nodes()[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.op->kind(), b.op->kind()) << a.name;
    EXPECT_EQ(a.op->Problem(), b.op->Problem()) << a.name;
    EXPECT_EQ(a.inputs, b.inputs) << a.name;
  }
}

void ExpectSame(const ParameterValues& actual, const ParameterValues& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [key, tensor] : expected) {
    ASSERT_EQ(actual.count(key), 1u) << key;
    const Tensor& other = actual.at(key);
    ASSERT_EQ(other.shape(), tensor.shape()) << key;
    EXPECT_EQ(std::memcmp(other.data(), tensor.data(), tensor.desc().bytes()), 0) << key;
  }
}

ImportedNetwork ThereAndBack(const Graph& graph, const ParameterValues& values) {
  ImportOptions options;
  options.input = graph.shape(0);
  return ImportOnnx(ExportOnnx(graph, values), options);
}

// The exported file takes any number of images.
TEST(RoundTripTest, ASliceOfChannelsKeepsTheBatchOpen) {
  const Shape image{1, 4, 2, 2};
  Graph graph("sliced");
  const ValueId input = graph.AddInput(image, "input");
  const std::vector<SliceAxis> axes = {
      {.extent = 1}, {.start = 1, .extent = 2}, {.extent = 2}, {.extent = 2}};
  graph.SetOutputs({graph.Add("slice", std::make_shared<SliceOp>(image, axes), {input})});
  const ImportedNetwork network = ImportOnnx(ExportOnnx(graph, {}), {.batch = 3});
  EXPECT_EQ(network.outputs.at(0).shape, (Shape{3, 2, 2, 2}));
}

// The first extent of the result is the number of channels.
TEST(RoundTripTest, ATransposedResultKeepsItsFirstExtent) {
  const Shape image{2, 4, 1, 1};
  Graph graph("transposed");
  const ValueId input = graph.AddInput(image, "input");
  const auto op = std::make_shared<TransposeOp>(image, std::vector<int>{1, 0, 2, 3});
  graph.SetOutputs({graph.Add("transpose", op, {input})});
  onnx::ModelProto exported;
  ASSERT_TRUE(exported.ParseFromString(ExportOnnx(graph, {})));
  const auto first = [](const onnx::ValueInfoProto& value) {
    return value.type().tensor_type().shape().dim(0);
  };
  EXPECT_EQ(first(exported.graph().input(0)).dim_param(), "N");
  EXPECT_EQ(first(exported.graph().output(0)).dim_value(), 4);
}

TEST(RoundTripTest, ARowOfEachImageIsOpenInEachInput) {
  const Shape image{4, 3, 8, 8};
  Graph graph("rows");
  graph.AddInput(image, "input");
  const ValueId row = graph.AddInput(Shape{4}, "row");
  graph.SetOutputs({graph.Add("relu", std::make_shared<ReluOp>(Shape{4}), {row})});
  onnx::ModelProto exported;
  ASSERT_TRUE(exported.ParseFromString(ExportOnnx(graph, {})));
  EXPECT_EQ(exported.graph().input(1).type().tensor_type().shape().dim(0).dim_param(), "N");
}

TEST(RoundTripTest, AResizeToSizesKeepsTheBatchOpen) {
  const Shape image{1, 2, 4, 4}, resized{1, 2, 6, 3};
  Graph graph("resized");
  const ValueId input = graph.AddInput(image, "input");
  const std::vector<double> scales = {1, 1, 1.5, 0.75};
  const auto op = std::make_shared<InterpolateOp>(image, resized, scales, InterpolateSettings{});
  graph.SetOutputs({graph.Add("resize", op, {input})});
  const ImportedNetwork network = ImportOnnx(ExportOnnx(graph, {}), {.batch = 3});
  EXPECT_EQ(network.graph.nodes().size(), 1U);
  EXPECT_EQ(network.outputs.at(0).shape, (Shape{3, 2, 6, 3}));
}

// The network computes the softmax on a matrix with a row for each pixel.
TEST(RoundTripTest, ASoftmaxOverChannelsKeepsTheBatchOpen) {
  for (const std::int64_t batch : {1, 2}) {
    ModelBuilder model(13);
    model.Input("x", {batch, 3, 2, 2}).Output("y");
    AddInt(model.Node("Softmax", "y", {"x"}), "axis", 1);
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    const ImportedNetwork again =
        ImportOnnx(ExportOnnx(network.graph, network.parameters), {.batch = 3});
    EXPECT_EQ(again.outputs.at(0).shape, (Shape{3, 3, 4})) << batch;
    const ImportedNetwork expected = ImportOnnx(model.Bytes(), {.batch = 3});
    const std::vector<double> input = NormalValues(5, 3 * 3 * 2 * 2);
    EXPECT_EQ(RunGraph(again.graph, again.parameters, input),
              RunGraph(expected.graph, expected.parameters, input))
        << batch;
  }
}

TEST(RoundTripTest, TheBoundOfAFusedReluIsKept) {
  const Shape image{2, 3, 4, 4};
  Graph graph("bounded");
  const ValueId input = graph.AddInput(image, "input");
  const ConvEpilogue epilogue = {.relu = true, .bound = 0.5F};
  const ValueId conv = graph.Add(
      "conv",
      std::make_shared<ConvOp>(ConvExtents{.n = 2, .c = 3, .h = 4, .w = 4, .k = 3}, epilogue),
      {input});
  const ValueId norm = graph.Add(
      "norm", std::make_shared<BatchNormOp>(image, BatchNormOp::kDefaultEpsilon, true, 0.25F),
      {conv});
  const InnerProductEpilogue product = {.relu = true, .bound = 0.0625F};
  graph.SetOutputs({graph.Add("fc", std::make_shared<InnerProductOp>(image, 5, product), {norm})});
  const ParameterValues values = DrawnParameters(graph, 3);
  const std::vector<double> images = NormalValues(5, 2 * 3 * 4 * 4);
  const std::vector<double> expected = RunGraph(graph, values, images);
  EXPECT_EQ(*std::max_element(expected.begin(), expected.end()), 0.0625);
  const ImportedNetwork network = ThereAndBack(graph, values);
  EXPECT_EQ(RunGraph(network.graph, network.parameters, images), expected);
}

TEST(RoundTripTest, AConvolutionWithAFusedFunctionIsRefused) {
  Graph graph("fused");
  const ConvExtents e{.n = 1, .c = 1, .h = 2, .w = 2, .k = 1};
  const ValueId input = graph.AddInput(Shape{1, 1, 2, 2}, "input");
  const ConvEpilogue epilogue = {.function = FindUnaryFunction("mish")};
  ASSERT_NE(epilogue.function, nullptr);
  graph.SetOutputs({graph.Add("conv", std::make_shared<ConvOp>(e, epilogue), {input})});
  EXPECT_THAT([&] { ExportOnnx(graph, DrawnParameters(graph, 3)); },
              testing::ThrowsMessage<OnnxError>(
                  "layer conv (conv) cannot be exported to ONNX: a convolution with a fused "
                  "function"));
}

// All operations that can be exported, in one graph.
TEST(RoundTripTest, EveryOperationIsImportedAgain) {
  const Graph graph = EveryOperation();
  const ParameterValues values = DrawnParameters(graph, 3);
  const ImportedNetwork network = ThereAndBack(graph, values);
  ExpectSame(network.graph, graph);
  ExpectSame(network.parameters, values);
  const std::vector<double> input =
      NormalValues(5, static_cast<std::size_t>(graph.shape(0).elements()));
  EXPECT_EQ(RunGraph(network.graph, network.parameters, input), RunGraph(graph, values, input));
}

// Fast to compute, and different for every parameter.
ParameterValues PatternParameters(const Graph& graph) {
  ParameterValues values;
  float start = 0;
  for (const GraphNode& node : graph.nodes()) {
    for (const Parameter& parameter : node.op->Parameters()) {
      Tensor& tensor = values[ParameterKey(node.name, parameter.name)] = Tensor(parameter.shape);
      std::iota(tensor.values<float>().begin(), tensor.values<float>().end(), start++);
    }
    if (const auto* norm = dynamic_cast<const BatchNormOp*>(node.op.get())) {
      for (const char* statistic : {"mean", "variance"}) {
        Tensor& tensor = values[ParameterKey(node.name, statistic)] =
            Tensor(Shape{norm->channels()});
        std::iota(tensor.values<float>().begin(), tensor.values<float>().end(), start++);
      }
    }
  }
  return values;
}

// A swish and a hard swish are a sigmoid and a product in ONNX, a GELU and a layer normalization
// are composed, too, a channel shuffle is a reshape, a transposition and a reshape, and a flatten
// of one pixel per channel is dropped.
bool HasOtherNodes(std::string_view network) {
  return network.starts_with("convnext") || network.starts_with("yolo") ||
         network.starts_with("efficientnet") || network.starts_with("mobilenet_v3") ||
         network.starts_with("shufflenet") || network.starts_with("squeezenet");
}

class ZooRoundTripTest : public testing::TestWithParam<std::string> {};

TEST_P(ZooRoundTripTest, TheNetworkIsImportedAgain) {
  const NetworkOffer& offer = *FindNetwork(GetParam());
  const Graph graph = offer.build({1, offer.small, 10});
  const bool computes = HasOtherNodes(GetParam());
  const ParameterValues values = computes ? DrawnParameters(graph, 1) : PatternParameters(graph);
  const ImportedNetwork network = ThereAndBack(graph, values);
  const bool composes_parameters = GetParam().starts_with("convnext");
  if (!composes_parameters) ExpectSame(network.parameters, values);
  if (!computes) return ExpectSame(network.graph, graph);
  const std::vector<double> input =
      NormalValues(5, static_cast<std::size_t>(graph.shape(0).elements()));
  const std::vector<double> actual = RunGraph(network.graph, network.parameters, input, "onednn");
  const std::vector<double> expected = RunGraph(graph, values, input, "onednn");
  ASSERT_EQ(actual.size(), expected.size());
  double most = 0;
  for (const double value : expected) most = std::max(most, std::abs(value));
  EXPECT_GT(most, 0);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-5 * most) << i;
  }
}

std::vector<std::string> ZooNames() {
  std::vector<std::string> names;
  for (const NetworkOffer& offer : Networks()) names.push_back(offer.FullName());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooRoundTripTest, testing::ValuesIn(ZooNames()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return c == ':' || c == '-' || c == '.'; }, '_');
                           return name;
                         });

TEST(RoundTripTest, TheSameOutputOnEveryBackend) {
  const Graph graph = FindNetwork("cnn")->build({2, {3, 32, 32}, 10});
  const ParameterValues values = DrawnParameters(graph, 1);
  const ImportedNetwork network = ThereAndBack(graph, values);
  const std::vector<double> input = NormalValues(5, 2 * 3 * 32 * 32);
  for (const char* backend : {"onednn", "eigen", "openblas", "reference"}) {
    EXPECT_EQ(RunGraph(network.graph, network.parameters, input, backend),
              RunGraph(graph, values, input, backend))
        << backend;
  }
}

TEST(ExporterTest, UnsupportedOperationsAndWrongParametersAreRefused) {
  EXPECT_THROW(ExportOnnx(FindNetwork("cnn")->build({1, {3, 32, 32}, 10}), {}), ParameterError);
  Graph graph("reordered");
  const Shape shape{2, 4};
  graph.Add("reorder", std::make_shared<ReorderOp>(shape, DataType::kF32, DataType::kBF16),
            {graph.AddInput(shape)});
  try {
    ExportOnnx(graph, {});
    FAIL() << "a reorder was exported";
  } catch (const OnnxError& error) {
    EXPECT_STREQ(error.what(), "layer reorder (reorder) has no counterpart in ONNX's opset 13");
  }
}

// The result that a TopK does not need has a name of its own, too.
TEST(ExporterTest, ResultsThatNothingReadsHaveNamesOfTheirOwn) {
  for (const bool indices : {false, true}) {
    Graph graph("top");
    const ValueId input = graph.AddInput(Shape{1, 4}, "input");
    const ValueId top = graph.Add(
        "top", std::make_shared<TopKOp>(Shape{1, 4}, TopKSettings{1, 2, true, indices}), {input});
    const ValueId relu = graph.Add(indices ? "top_values" : "top_indices",
                                   std::make_shared<ReluOp>(Shape{1, 2}), {top});
    graph.SetOutputs({graph.Add("last", std::make_shared<ReluOp>(Shape{1, 2}), {relu})});
    const ImportedNetwork again = ImportOnnx(ExportOnnx(graph, {}), {});
    EXPECT_EQ(RunGraph(again.graph, again.parameters, {5, 8, 6, 7}),
              indices ? (std::vector<double>{1, 3}) : (std::vector<double>{8, 7}));
  }
}

}  // namespace
}  // namespace topdnn
