// What is exported and read back is the same network.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/softmax/cross_entropy.h"
#include "networks/onnx/exporter.h"
#include "networks/onnx/importer.h"
#include "networks/parameters.h"
#include "networks/zoo/zoo.h"
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

// Every operation that can be exported, in one graph.
TEST(RoundTripTest, EveryOperationComesBack) {
  const Graph graph = EveryOperation();
  const ParameterValues values = DrawnParameters(graph, 3);
  const ImportedNetwork network = ThereAndBack(graph, values);
  ExpectSame(network.graph, graph);
  ExpectSame(network.parameters, values);
  const std::vector<double> input =
      NormalValues(5, static_cast<std::size_t>(graph.shape(0).elements()));
  EXPECT_EQ(RunGraph(network.graph, network.parameters, input), RunGraph(graph, values, input));
}

class ZooRoundTripTest : public testing::TestWithParam<std::string> {};

TEST_P(ZooRoundTripTest, TheNetworkComesBack) {
  const NetworkOffer& offer = *FindNetwork(GetParam());
  const Graph graph = offer.build({1, offer.image, offer.classes});
  constexpr std::int64_t kMost = 30'000'000;  // parameters: beyond, the file is hundreds of MB
  if (graph.Totals().parameters > kMost) {
    GTEST_SKIP() << "too large for a quick test: its layers are those of the others";
  }
  const ParameterValues values = DrawnParameters(graph, 1);
  const ImportedNetwork network = ThereAndBack(graph, values);
  ExpectSame(network.graph, graph);
  ExpectSame(network.parameters, values);
}

std::vector<std::string> ZooNames() {
  std::vector<std::string> names;
  for (const NetworkOffer& offer : Networks()) names.push_back(offer.FullName());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooRoundTripTest, testing::ValuesIn(ZooNames()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), ':', '_');
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

TEST(ExporterTest, WhatONNXLacksIsRefused) {
  Graph graph("loss");
  const ValueId x = graph.AddInput({2, 4});
  static_cast<void>(x);
  EXPECT_THROW(ExportOnnx(FindNetwork("cnn")->build({1, {3, 32, 32}, 10}), {}), ParameterError);
}

}  // namespace
}  // namespace topdnn
