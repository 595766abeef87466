// The ONNX project's node tests (Debian package libonnx-testdata) as whole models: imported,
// planned and run by a backend, they must give the published results. All inputs but the first are
// made initializers, as they are in networks.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "networks/plan.h"
#include "tests/kernels/case_count.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = "/usr/share/libonnx-testdata/data/node";

template <typename Message>
bool Read(const fs::path& path, Message& message) {
  std::ifstream file(path, std::ios::binary);
  return file && message.ParseFromIstream(&file);
}

// What the importer takes, and how many of the published cases of each must at least run with the
// published result (libonnx-testdata 1.12). The cases of Add and Sum make a tensor of each input:
// as a constant the second is none that a network has.
const std::map<std::string, int>& Operations() {
  static const std::map<std::string, int> operations = {
      {"Add", 0},           {"AveragePool", 11}, {"BatchNormalization", 2},
      {"Clip", 8},          {"Conv", 6},         {"Dropout", 6},
      {"Flatten", 9},       {"Gemm", 8},         {"GlobalAveragePool", 2},
      {"GlobalMaxPool", 2}, {"HardSigmoid", 3},  {"Identity", 1},
      {"LRN", 2},           {"MatMul", 1},       {"MaxPool", 11},
      {"ReduceMean", 8},    {"ReduceSum", 7},    {"Relu", 1},
      {"Reshape", 9},       {"Resize", 1},       {"Sigmoid", 2},
      {"Softmax", 2},       {"Squeeze", 2},      {"Sum", 0},
      {"Transpose", 7},     {"Unsqueeze", 8}};
  return operations;
}

// What may be left out: an operation's refusals, each by a part of its words. Any other is a
// failure.
const std::multimap<std::string, std::string>& KnownRefusals() {
  static const std::multimap<std::string, std::string> refusals = {
      {"Add", "an addition of a constant"},
      {"AveragePool", "topdnn supports 2-D windows"},
      {"BatchNormalization", "training_mode"},
      {"Dropout", "training_mode: export the network for inference"},
      {"Gemm", "transA"},
      {"Gemm", "a bias of 3x4"},
      {"Identity", "not of float"},
      {"MatMul", "topdnn supports only matrices"},
      {"MaxPool", "dilated windows"},
      {"MaxPool", "topdnn supports 2-D windows"},
      {"ReduceSum", "no layer leads from its input"},
      {"Reshape", "reshaped to 3x4x0, which has another size"},
      {"Resize", "mode cubic"},
      {"Resize", "mode linear"},
      {"Resize", "half_pixel with ceil"},
      {"Resize", "asymmetric with round_prefer_ceil"},
      {"Resize", "align_corners with floor"},
      {"Resize", "a factor of"},
      {"Softmax", "topdnn supports only the last axis"},
      {"Softmax", "a reshape of 3x4x5 to 12x5"},
      {"Sum", "its input 1 is a constant"},
      {"Sum", "an addition of a constant"},
      {"Sum", "no layer leads from its input"}};
  return refusals;
}

bool IsKnownRefusal(const std::string& op_type, const std::string& reason) {
  const auto [first, last] = KnownRefusals().equal_range(op_type);
  return std::any_of(first, last, [&](const auto& known) {
    return reason.find(known.second) != std::string::npos;
  });
}

std::vector<double> Floats(const onnx::TensorProto& tensor) {
  std::vector<double> values(tensor.float_data().begin(), tensor.float_data().end());
  const auto count = tensor.raw_data().size() / sizeof(float);
  const auto* raw = reinterpret_cast<const float*>(tensor.raw_data().data());
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(raw[i]));
  return values;
}

// The model with its other inputs as initializers, the first input and the first output; nothing
// when the case is not of floats throughout.
struct Case {
  onnx::ModelProto model;
  onnx::TensorProto input, output;
};

bool ComputesNothing(const std::string& op_type) {
  static const std::set<std::string> operations = {"Dropout", "Flatten",   "Identity", "Reshape",
                                                   "Squeeze", "Transpose", "Unsqueeze"};
  return operations.count(op_type) > 0;
}

// A network needs a layer that computes: one without bounds, before the node.
void InsertClip(onnx::GraphProto& graph, std::int64_t opset) {
  ASSERT_GE(opset, kOldestOpset);
  graph.mutable_node(0)->set_input(0, "clipped");
  onnx::NodeProto& clip = *graph.add_node();
  clip.set_op_type("Clip");
  clip.add_input(graph.input(0).name());
  clip.add_output("clipped");
  graph.mutable_node()->SwapElements(0, 1);
}

std::optional<Case> ReadCase(const fs::path& folder) {
  Case c;
  if (!Read(folder / "model.onnx", c.model)) return std::nullopt;
  onnx::GraphProto& graph = *c.model.mutable_graph();
  if (graph.input_size() == 0 || !Read(folder / "test_data_set_0/input_0.pb", c.input) ||
      !Read(folder / "test_data_set_0/output_0.pb", c.output)) {
    return std::nullopt;
  }
  for (int i = 1; i < graph.input_size(); ++i) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    if (!Read(folder / fmt::format("test_data_set_0/input_{}.pb", i), tensor)) return std::nullopt;
    tensor.set_name(graph.input(i).name());
  }
  while (graph.output_size() > 1) graph.mutable_output()->RemoveLast();
  // Cases of operations that never changed name the first opset of all.
  auto& opset = *c.model.mutable_opset_import(0);
  opset.set_version(std::max<std::int64_t>(opset.version(), kOldestOpset));
  if (ComputesNothing(graph.node(0).op_type())) InsertClip(graph, opset.version());
  return c;
}

// Runs a case; the reason why the importer refuses it, or nothing. What is imported is planned,
// too: the reference takes what a backend lacks.
std::string RunCase(const std::string& name, const Case& c, const std::string& backend) {
  std::vector<double> actual;
  Shape shape;
  try {
    const ImportedNetwork network = ImportOnnx(c.model.SerializeAsString(), {});
    shape = network.output;
    actual = RunGraph(network.graph, network.parameters, Floats(c.input), backend);
  } catch (const OnnxError& error) {
    return error.what();
  } catch (const PlanError& error) {
    ADD_FAILURE() << name << ": " << error.what();
    return "";
  }
  const std::vector<double> expected = Floats(c.output);
  EXPECT_EQ(shape, Shape(std::vector<std::int64_t>(c.output.dims().begin(), c.output.dims().end())))
      << name;
  EXPECT_EQ(actual.size(), expected.size()) << name;
  if (actual.size() != expected.size()) return "";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    // ONNX's own tolerance.
    EXPECT_NEAR(actual[i], expected[i], 1e-7 + 1e-3 * std::abs(expected[i])) << name << " at " << i;
  }
  return "";
}

class NodeCasesTest : public testing::TestWithParam<std::string> {};

TEST_P(NodeCasesTest, ImportedModelsGiveThePublishedResults) {
  if (!fs::is_directory(kCases)) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::map<std::string, int> run;
  for (const auto& entry : fs::directory_iterator(kCases)) {
    const std::string name = entry.path().filename().string();
    const auto c = ReadCase(entry.path());
    if (!c) continue;
    const onnx::GraphProto& graph = c->model.graph();
    const std::string& op_type = graph.node(graph.node_size() - 1).op_type();
    if (graph.node_size() != (ComputesNothing(op_type) ? 2 : 1)) continue;
    if (Operations().count(op_type) == 0) continue;
    const std::string what = "ONNX node models on " + GetParam();
    if (c->input.data_type() != onnx::TensorProto::FLOAT) {
      CountLeftOut(what, name, "not of float");
      continue;
    }
    const std::string reason = RunCase(name, *c, GetParam());
    if (reason.empty()) {
      ++run[op_type];
      CountCase(what);
    } else {
      EXPECT_TRUE(IsKnownRefusal(op_type, reason)) << name << " (" << op_type << "): " << reason;
      CountLeftOut(what, name, reason);
    }
  }
  for (const auto& [op_type, least] : Operations()) {
    EXPECT_GE(run[op_type], least) << op_type;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, NodeCasesTest, testing::Values("reference", "onednn"));

}  // namespace
}  // namespace topdnn
