// The ONNX project's tests as whole models, also those that PyTorch has exported: every input of
// float is an input of the network, and every output is compared. node_cases_test.cc runs the node
// tests with constants instead, and checks the reason of each refusal. Here only a minimum number
// of models must run.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "networks/onnx/import/importer.h"
#include "tests/kernels/case_count.h"
#include "tests/networks/onnx/node_case.h"
#include "tests/networks/onnx/node_verdict.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kData = "/usr/share/libonnx-testdata/data";

struct Collection {
  std::string folder;
  int least = 0;             // models that run, at least
  int least_of_several = 0;  // of them with several inputs or outputs
};

template <typename Message>
Message Parse(const fs::path& path) {
  Message message;
  std::ifstream file(path, std::ios::binary);
  if (!file || !message.ParseFromIstream(&file)) {
    throw std::runtime_error(fmt::format("{} is missing or broken", path.string()));
  }
  return message;
}

// A model with the values of its inputs and outputs.
struct WholeCase {
  std::string bytes;
  std::map<std::string, OnnxTensor> inputs, outputs;

  explicit WholeCase(const fs::path& folder) {
    auto model = Parse<onnx::ModelProto>(folder / "model.onnx");
    onnx::GraphProto& graph = *model.mutable_graph();
    const fs::path data = folder / "test_data_set_0";
    std::vector<std::string> constants;
    for (const auto& initializer : graph.initializer()) constants.push_back(initializer.name());
    for (int i = 0; i < graph.input_size(); ++i) {
      const std::string& name = graph.input(i).name();
      const fs::path file = data / fmt::format("input_{}.pb", i);
      if (std::count(constants.begin(), constants.end(), name) != 0) continue;
      const OnnxTensor tensor = ReadTensor(file);
      if (tensor.type == DataType::kF32) {
        inputs.emplace(name, tensor);
        continue;
      }
      auto constant = Parse<onnx::TensorProto>(file);
      constant.set_name(name);
      *graph.add_initializer() = constant;
    }
    for (int i = 0; i < graph.output_size(); ++i) {
      outputs.emplace(graph.output(i).name(), ReadTensor(data / fmt::format("output_{}.pb", i)));
    }
    auto& opset = *model.mutable_opset_import(0);
    opset.set_version(std::max<std::int64_t>(opset.version(), kOldestOpset));
    bytes = model.SerializeAsString();
  }

  bool has_several() const { return inputs.size() > 1 || outputs.size() > 1; }
};

void ExpectPublishedResults(const WholeCase& one, const ImportedNetwork& network) {
  NamedValues inputs;
  for (const auto& [name, tensor] : one.inputs) inputs[name] = tensor.values;
  for (const char* backend : {"reference", "onednn", "openblas", "eigen"}) {
    const NamedValues results = RunNetwork(network, inputs, backend);
    ASSERT_EQ(results.size(), one.outputs.size());
    for (const ImportedOutput& output : network.outputs) {
      const OnnxTensor& expected = one.outputs.at(output.name);
      EXPECT_EQ(output.shape.ToString(), expected.shape.ToString()) << backend;
      EXPECT_EQ(output.type, expected.type) << backend;
      ASSERT_EQ(results.at(output.name).size(), expected.values.size()) << backend;
      const NodeOutcome outcome = Compare(results.at(output.name), expected.values, 1e-5);
      EXPECT_NE(outcome.verdict, NodeVerdict::kDiffers) << backend << ": " << outcome.why;
    }
  }
}

class WholeCasesTest : public testing::TestWithParam<Collection> {};

TEST_P(WholeCasesTest, HavePublishedResults) {
  const fs::path root = fs::path(kData) / GetParam().folder;
  if (!fs::is_directory(root)) GTEST_SKIP() << "libonnx-testdata has no " << GetParam().folder;
  const std::string kind = "whole models of ONNX's " + GetParam().folder;
  int ran = 0, of_several = 0;
  for (const CaseFolder& folder : FindCaseFolders(root.string())) {
    SCOPED_TRACE(folder.name);
    try {
      const WholeCase one(root / folder.name);
      const ImportedNetwork network = ImportOnnx(one.bytes, {});
      ExpectPublishedResults(one, network);
      CountCase(kind);
      ++ran;
      of_several += one.has_several() ? 1 : 0;
    } catch (const std::runtime_error& error) {  // not read, not imported, not planned
      CountLeftOut(kind, folder.name, error.what());
    }
  }
  EXPECT_GE(ran, GetParam().least);
  EXPECT_GE(of_several, GetParam().least_of_several);
}

INSTANTIATE_TEST_SUITE_P(Onnx, WholeCasesTest,
                         testing::Values(Collection{"node", 428, 45},
                                         Collection{"pytorch-converted", 77, 0},
                                         Collection{"pytorch-operator", 25, 7},
                                         Collection{"simple", 6, 0}),
                         [](const auto& test) {
                           std::string name = test.param.folder;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace topdnn
