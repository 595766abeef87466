// The ONNX project's node tests (Debian package libonnx-testdata) as whole models: imported,
// planned and run by a backend, they must give the published results. All inputs but the first are
// made initializers, as they are in networks.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

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

// What the importer takes, and so must give the published result.
const std::set<std::string>& Operations() {
  static const std::set<std::string> operations = {"Add",
                                                   "AveragePool",
                                                   "BatchNormalization",
                                                   "Clip",

                                                   "Conv",
                                                   "Dropout",
                                                   "Flatten",
                                                   "Gemm",
                                                   "GlobalAveragePool",
                                                   "Identity",
                                                   "LRN",
                                                   "GlobalMaxPool",
                                                   "MatMul",
                                                   "MaxPool",
                                                   "ReduceMean",
                                                   "ReduceSum",
                                                   "Relu",
                                                   "Reshape",
                                                   "Softmax",
                                                   "Squeeze",
                                                   "Sum",
                                                   "Transpose",
                                                   "Unsqueeze"};
  return operations;
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

bool OnlyReshapes(const std::string& op_type) {
  static const std::set<std::string> operations = {"Flatten", "Identity",  "Reshape",
                                                   "Squeeze", "Transpose", "Unsqueeze"};
  return operations.count(op_type) > 0;
}

// A network needs a layer: one without bounds, before the node.
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
  if (OnlyReshapes(graph.node(0).op_type())) InsertClip(graph, opset.version());
  return c;
}

// Runs a case; the reason why it was left out, or nothing.
std::string RunCase(const std::string& name, const Case& c, const std::string& backend) {
  if (c.input.data_type() != onnx::TensorProto::FLOAT) return "not of float";
  std::vector<double> actual;
  Shape shape;
  try {
    const ImportedNetwork network = ImportOnnx(c.model.SerializeAsString(), {});
    shape = network.output;
    actual = RunGraph(network.graph, network.parameters, Floats(c.input), backend);
  } catch (const OnnxError& error) {
    return error.what();
  } catch (const PlanError& error) {
    return error.what();
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
    if (graph.node_size() != (OnlyReshapes(op_type) ? 2 : 1)) continue;
    if (Operations().count(op_type) == 0) continue;
    const std::string reason = RunCase(name, *c, GetParam());
    if (reason.empty()) {
      ++run[op_type];
      CountCase("ONNX node models on " + GetParam());
    } else {
      CountLeftOut("ONNX node models on " + GetParam(), name, reason);
    }
  }
  for (const char* op_type :
       {"AveragePool", "BatchNormalization", "Clip", "Conv", "Flatten", "Gemm", "GlobalAveragePool",
        "LRN", "MaxPool", "ReduceMean", "Relu", "Reshape", "Softmax", "Squeeze", "Unsqueeze"}) {
    EXPECT_GT(run[op_type], 0) << op_type;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, NodeCasesTest, testing::Values("reference", "onednn"));

}  // namespace
}  // namespace topdnn
