// Convolutions and poolings as networks, against values that other people published or that are
// worked out by hand. The ONNX project's models of PyTorch's layers (libonnx-testdata) have one to
// three spatial axes; their results were computed by PyTorch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/kernels/case_count.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/node_case.h"
#include "tests/networks/onnx/node_verdict.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::Pointwise;

const char* const kWindowBackends[] = {"reference", "onednn", "openblas", "eigen", "eigen-sgemm"};

std::vector<double> RunOn(const std::string& backend, const ModelBuilder& model,
                          const std::vector<double>& input) {
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  return RunGraph(network.graph, network.parameters, input, backend);
}

std::vector<double> OneTo(int last) {
  std::vector<double> values;
  for (int i = 1; i <= last; ++i) values.push_back(i);
  return values;
}

// The model with the oldest opset that the importer reads: these operations are the same in it.
std::string ReadModel(const std::filesystem::path& path) {
  constexpr std::int64_t kOldestOpset = 7;
  std::ifstream file(path, std::ios::binary);
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromIstream(&file)) << path;
  auto& opset = *model.mutable_opset_import(0);
  opset.set_version(std::max<std::int64_t>(opset.version(), kOldestOpset));
  return model.SerializeAsString();
}

bool HasWindows(const std::string& name) {
  return name.find("Conv") != std::string::npos || name.find("Pool") != std::string::npos ||
         name == "test_operator_conv" || name == "test_operator_convtranspose" ||
         name == "test_operator_maxpool";
}

TEST(WindowModelsTest, HaveTheResultsOfPyTorch) {
  constexpr int kModels = 46;
  int models = 0;
  for (const char* group : {"pytorch-converted", "pytorch-operator"}) {
    const std::filesystem::path root = std::filesystem::path(kOnnxNodeTests).parent_path() / group;
    if (!std::filesystem::is_directory(root)) {
      GTEST_SKIP() << "the Debian package libonnx-testdata is not installed";
    }
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      const std::string name = entry.path().filename().string();
      if (!HasWindows(name)) continue;
      const ImportedNetwork network = ImportOnnx(ReadModel(entry.path() / "model.onnx"), {});
      const std::filesystem::path data = entry.path() / "test_data_set_0";
      const OnnxTensor expected = ReadTensor(data / "output_0.pb");
      EXPECT_EQ(network.outputs.front().shape, expected.shape) << name;
      for (const char* backend : kWindowBackends) {
        const auto result = RunGraph(network.graph, network.parameters,
                                     ReadTensor(data / "input_0.pb").values, backend);
        const NodeOutcome outcome = Compare(result, expected.values, 1e-5);
        EXPECT_EQ(outcome.verdict, NodeVerdict::kWithinTolerance)
            << name << " on " << backend << ": " << outcome.why;
        CountCase("ONNX models of PyTorch's windows");
      }
      ++models;
    }
  }
  EXPECT_GE(models, kModels);
}

// The published cases test_lppool_2d_dilations and test_averagepool_2d_dilations of ONNX 1.14 and
// later, which the installed package may not have.
TEST(WindowModelsTest, PoolingsWithGapsHaveThePublishedResults) {
  for (const char* backend : kWindowBackends) {
    for (const char* op_type : {"LpPool", "AveragePool"}) {
      ModelBuilder model(19);
      model.Input("x", {1, 1, 4, 4}).Output("y");
      onnx::NodeProto& node = model.Node(op_type, "y", {"x"});
      AddInts(node, "kernel_shape", {2, 2});
      AddInts(node, "strides", {1, 1});
      AddInts(node, "dilations", {2, 2});
      const auto result = RunOn(backend, model, OneTo(16));
      if (std::string(op_type) == "AveragePool") {
        EXPECT_THAT(result, ElementsAre(6, 7, 10, 11)) << backend;
      } else {
        const std::vector<double> expected = {14.560219778561036, 16.24807680927192,
                                              21.633307652783937, 23.49468024894146};
        EXPECT_THAT(result, Pointwise(FloatEq(), expected)) << backend;
      }
    }
  }
}

// Windows of 4 over 1 to 7, with a padding of 1 on both sides. With a stride of 3 the last one ends
// beyond the padding.
TEST(WindowModelsTest, AnAverageInCeilModeLeavesOutWhatIsBeyondThePadding) {
  const auto average = [](const char* backend, std::int64_t stride, std::int64_t counts) {
    ModelBuilder model(11);
    model.Input("x", {1, 1, 7}).Output("y");
    onnx::NodeProto& node = model.Node("AveragePool", "y", {"x"});
    AddInts(node, "kernel_shape", {4});
    AddInts(node, "strides", {stride});
    AddInts(node, "pads", {1, 1});
    AddInt(node, "ceil_mode", 1);
    AddInt(node, "count_include_pad", counts);
    return RunOn(backend, model, OneTo(7));
  };
  for (const char* backend : kWindowBackends) {
    // From -1: 1, 2, 3 and the padding. From 3: 4 to 7.
    EXPECT_THAT(average(backend, 4, 1), ElementsAre(1.5, 5.5)) << backend;
    EXPECT_THAT(average(backend, 4, 0), ElementsAre(2, 5.5)) << backend;
    // From 5: 6, 7, the padding, and one position beyond it.
    const double last = 13.0 / 3;
    EXPECT_THAT(average(backend, 3, 1), ElementsAre(1.5, 4.5, testing::DoubleNear(last, 1e-6)));
    EXPECT_THAT(average(backend, 3, 0), ElementsAre(2, 4.5, 6.5)) << backend;
  }
}

TEST(WindowModelsTest, GlobalNormsOfAnyNumberOfAxes) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1, 2, 2}, {1, 2, 1, 2}, {1, 2, 2, 1, 1}}) {
    ModelBuilder model(11);
    model.Input("x", shape).Output("y");
    AddInt(model.Node("GlobalLpPool", "y", {"x"}), "p", 2);
    for (const char* backend : kWindowBackends) {
      EXPECT_THAT(RunOn(backend, model, {3, -4, 5, 12}), ElementsAre(5, 13)) << backend;
    }
    model.proto.mutable_graph()->mutable_node(0)->set_op_type("GlobalAveragePool");
    model.proto.mutable_graph()->mutable_node(0)->clear_attribute();
    for (const char* backend : kWindowBackends) {
      EXPECT_THAT(RunOn(backend, model, {3, -4, 5, 12}), ElementsAre(-0.5, 8.5)) << backend;
    }
  }
}

// A transposed convolution of 1, 2, 3 by the kernel 100, 10, 1, with a bias of 0.5.
ModelBuilder TransposedBy(
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& ints,
    const std::string& auto_pad = "NOTSET") {
  ModelBuilder model(11);
  model.Input("x", {1, 1, 3}).Output("y");
  model.Floats("w", {1, 1, 3}, {100, 10, 1});
  model.Floats("b", {1}, {0.5F});
  onnx::NodeProto& node = model.Node("ConvTranspose", "y", {"x", "w", "b"});
  for (const auto& [name, values] : ints) AddInts(node, name, values);
  auto& attribute = *node.add_attribute();
  attribute.set_name("auto_pad");
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(auto_pad);
  return model;
}

TEST(WindowModelsTest, PaddingOfATransposedConvolution) {
  const std::vector<double> input = {1, 2, 3};
  for (const char* backend : kWindowBackends) {
    // Without padding: 100 10 201 20 302 30 3.
    EXPECT_THAT(RunOn(backend, TransposedBy({{"strides", {2}}, {"pads", {1, 2}}}), input),
                ElementsAre(10.5, 201.5, 20.5, 302.5))
        << backend;
    EXPECT_THAT(RunOn(backend, TransposedBy({{"strides", {2}}, {"output_padding", {1}}}), input),
                ElementsAre(100.5, 10.5, 201.5, 20.5, 302.5, 30.5, 3.5, 0.5))
        << backend;
    EXPECT_THAT(RunOn(backend, TransposedBy({{"strides", {2}}}, "SAME_UPPER"), input),
                ElementsAre(100.5, 10.5, 201.5, 20.5, 302.5, 30.5))
        << backend;
    EXPECT_THAT(RunOn(backend, TransposedBy({{"strides", {2}}}, "SAME_LOWER"), input),
                ElementsAre(10.5, 201.5, 20.5, 302.5, 30.5, 3.5))
        << backend;
    EXPECT_THAT(RunOn(backend, TransposedBy({{"strides", {2}}, {"output_shape", {5}}}), input),
                ElementsAre(10.5, 201.5, 20.5, 302.5, 30.5))
        << backend;
  }
}

TEST(WindowModelsTest, ImpossibleTransposedConvolutionsAreRefused) {
  const auto refusal = [](const ModelBuilder& model) { return RefusalOf(model.Bytes()); };
  EXPECT_THAT(refusal(TransposedBy({{"strides", {2}}, {"output_padding", {2}}})),
              HasSubstr("less than a stride of 2 beyond the last window"));
  EXPECT_THAT(refusal(TransposedBy({{"pads", {3, 3}}})), HasSubstr("it must be at least 1"));
  EXPECT_THAT(refusal(TransposedBy({{"output_shape", {0}}})), HasSubstr("padding of 0"));
  EXPECT_THAT(refusal(TransposedBy({{"output_shape", {1, 1, 5}}})),
              HasSubstr("3 numbers of output_shape, not 1"));
  EXPECT_THAT(refusal(TransposedBy({{"group", {}}, {"strides", {std::int64_t{1} << 40}}})),
              HasSubstr("a kernel, stride, dilation or padding of 1099511627776"));
}

// A network over one axis, and the same over two or three of which the first ones have extent 1.
ModelBuilder SmallNetwork(std::size_t axes) {
  const auto with = [axes](std::vector<std::int64_t> numbers, std::int64_t first,
                           std::size_t place) {
    numbers.insert(numbers.begin() + static_cast<std::ptrdiff_t>(place), axes - 1, first);
    return numbers;
  };
  const auto window = [&](onnx::NodeProto& node, std::int64_t stride, std::int64_t pad) {
    AddInts(node, "strides", with({stride}, 1, 0));
    AddInts(node, "pads", with(with({pad, pad}, 0, 1), 0, 0));
  };
  ModelBuilder model(13);
  model.Input("x", with({2, 3, 9}, 1, 2)).Output("fc");
  model.Floats("w", with({4, 3, 3}, 1, 2));
  model.Floats("b", {4});
  window(model.Node("Conv", "conv", {"x", "w", "b"}), 1, 1);
  model.Floats("scale", {4}, {1, 2, 0.5F, 1});
  model.Floats("shift", {4});
  model.Floats("mean", {4});
  model.Floats("variance", {4}, {1, 2, 3, 4});
  model.Node("BatchNormalization", "norm", {"conv", "scale", "shift", "mean", "variance"});
  model.Node("Relu", "relu", {"norm"});
  onnx::NodeProto& pool = model.Node("MaxPool", "pool", {"relu"});
  AddInts(pool, "kernel_shape", with({3}, 1, 0));
  window(pool, 2, 1);
  model.Floats("u", with({4, 2, 2}, 1, 2));
  onnx::NodeProto& up = model.Node("ConvTranspose", "up", {"pool", "u", "half"});
  model.Floats("half", {4}, {0.5F, 0.25F, 1, 0});
  AddInt(up, "group", 2);
  window(up, 2, 0);
  AddInt(model.Node("Concat", "both", {"pool", "pool"}), "axis", 1);
  model.Node("GlobalAveragePool", "of_pool", {"both"});
  model.Node("GlobalAveragePool", "of_up", {"up"});
  AddInt(model.Node("Concat", "all", {"of_pool", "of_up"}), "axis", 1);
  model.Node("Flatten", "flat", {"all"});
  model.Floats("v", {12, 5});
  model.Node("Gemm", "fc", {"flat", "v"});
  return model;
}

TEST(WindowModelsTest, ANetworkOverOneAxisIsOneOverTwoOrThree) {
  std::vector<double> input;
  for (int i = 0; i < 2 * 3 * 9; ++i) input.push_back(i * 5 % 11 - 5);
  for (const char* backend : kWindowBackends) {
    const std::vector<double> expected = RunOn(backend, SmallNetwork(2), input);
    EXPECT_EQ(expected.size(), 10u);
    EXPECT_GT(std::abs(expected[0] - expected[1]), 0.01);
    for (const std::size_t axes : {1, 3}) {
      EXPECT_THAT(RunOn(backend, SmallNetwork(axes), input),
                  Pointwise(testing::DoubleNear(1e-5), expected))
          << backend << " over " << axes << " axes";
    }
  }
}

// Values over one axis pass from a convolution to the next layers without a reshape.
TEST(WindowModelsTest, ANetworkOverOneAxisIsReshapedOnce) {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 8}).Output("y");
  model.Floats("w", {4, 2, 3});
  model.Node("Conv", "conv", {"x", "w"});
  model.Floats("ones", {4}, {1, 1, 1, 1});
  model.Node("BatchNormalization", "norm", {"conv", "ones", "ones", "ones", "ones"});
  model.Node("Relu", "relu", {"norm"});
  AddInts(model.Node("MaxPool", "pool", {"relu"}), "kernel_shape", {2});
  model.Node("GlobalAveragePool", "mean", {"pool"});
  model.Floats("v", {4, 5});
  model.Node("Flatten", "flat", {"mean"});
  model.Node("Gemm", "y", {"flat", "v"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  std::vector<std::string> layers;
  for (const GraphNode& layer : network.graph.nodes()) layers.push_back(layer.name);
  EXPECT_THAT(layers, ElementsAre("flatten", "conv", "norm", "relu", "pool", "mean", "y"));
}

// After a ReLU, because a maximum then ignores zeros of the padding.
std::vector<double> PooledAfterAPad(const char* backend, const std::string& op_type,
                                    std::int64_t before, std::int64_t after, std::int64_t stride,
                                    bool ceil_mode) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 1, 4}).Output("y");
  model.Node("Relu", "relu", {"x"});
  model.Ints("pads", {0, 0, 0, before, 0, 0, 0, after});
  model.Node("Pad", "pad", {"relu", "pads"});
  onnx::NodeProto& pool = model.Node(op_type, "y", {"pad"});
  AddInts(pool, "kernel_shape", {1, 2});
  AddInts(pool, "strides", {1, stride});
  AddInt(pool, "ceil_mode", ceil_mode ? 1 : 0);
  return RunOn(backend, model, OneTo(4));
}

// In ceil mode the last window is (0) of the Pad, and ends beyond it.
TEST(WindowModelsTest, PoolingsReadThePadBeforeThemAsAnImage) {
  for (const char* backend : kWindowBackends) {
    EXPECT_THAT(PooledAfterAPad(backend, "MaxPool", 0, 1, 2, true), ElementsAre(2, 4, 0))
        << backend;
    EXPECT_THAT(PooledAfterAPad(backend, "AveragePool", 0, 1, 2, true), ElementsAre(1.5, 3.5, 0))
        << backend;
    // Windows of padding alone.
    EXPECT_THAT(PooledAfterAPad(backend, "MaxPool", 2, 2, 1, false),
                ElementsAre(0, 1, 2, 3, 4, 4, 0))
        << backend;
    EXPECT_THAT(PooledAfterAPad(backend, "AveragePool", 2, 2, 1, false),
                ElementsAre(0, 0.5, 1.5, 2.5, 3.5, 2, 0))
        << backend;
  }
}

}  // namespace
}  // namespace topdnn
