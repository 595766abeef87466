// The ONNX project's node tests (see node_case.h) on every backend. A case runs as a network of one
// layer, if the importer takes it, and as single operations, if it has a translator
// (node_translation.h). Otherwise it is counted as left out with the reason.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "networks/onnx/import/node_import.h"
#include "tests/kernels/case_count.h"
#include "tests/networks/onnx/node_case.h"
#include "tests/networks/onnx/node_translation.h"
#include "tests/networks/onnx/node_verdict.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

bool HasCases() { return std::filesystem::is_directory(kOnnxNodeTests); }
constexpr const char* kNoCases = "the Debian package libonnx-testdata is not installed";

struct DocumentedOperation {
  std::string name;
  int least = 0;  // published cases that run as networks on every backend, in libonnx-testdata
  std::string limits;
};

// The file behind the table of docs/onnx.md.
std::vector<DocumentedOperation> DocumentedOperations() {
  std::vector<DocumentedOperation> operations;
  std::ifstream file(TOPDNN_SOURCE_DIR "/tests/networks/onnx/operations.csv");
  std::string line;
  std::getline(file, line);  // the names of the columns
  while (std::getline(file, line)) {
    const std::size_t first = line.find(';'), second = line.find(';', first + 1);
    operations.push_back({line.substr(0, first),
                          std::stoi(line.substr(first + 1, second - first - 1)),
                          line.substr(second + 1)});
  }
  return operations;
}

std::map<std::string, int> ReadLeastImported() {
  std::map<std::string, int> cases;
  for (const DocumentedOperation& one : DocumentedOperations()) {
    EXPECT_TRUE(cases.emplace(one.name, one.least).second) << one.name << " has two rows";
  }
  return cases;
}

const std::map<std::string, int>& LeastImported() {
  static const std::map<std::string, int> cases = ReadLeastImported();
  return cases;
}

// Fewer run on Eigen, whose shuffle takes at most four dimensions.
int LeastImportedOn(const std::string& backend, const std::string& op_type) {
  static const std::map<std::string, int> on_eigen = {{"DepthToSpace", 1}, {"SpaceToDepth", 1}};
  const auto found = on_eigen.find(op_type);
  const bool fewer = backend.starts_with("eigen") && found != on_eigen.end();
  return fewer ? found->second : LeastImported().at(op_type);
}

// The accepted reasons why a case cannot be read or imported, each as a part of its text. Any other
// reason is a failure.
const std::multimap<std::string, std::string>& KnownRefusals() {
  static const std::multimap<std::string, std::string> refusals = {
      {"Cast", "a cast to"},
      {"DequantizeLinear", "a zero point of"},
      {"DequantizeLinear", "scales of blocks"},
      {"Dropout", "training_mode: export the network for inference"},
      {"Dropout", "its result 1"},  // the mask of an inference
      {"Identity", "not of float"},
      {"Identity", "elements, not the"},  // an optional tensor
      {"MaxPool", "its result 1"},        // the indices
      {"NegativeLogLikelihoodLoss", "1 to 6 dimensions"},
      {"Pow", "of integers, which round the result"},
      {"QuantizeLinear", "a zero point of"},
      {"QuantizeLinear", "scales of blocks"},
      {"Reshape", "reshaped to 3x4x0, which has another size"},
      {"Resize", "align_corners with a scale of"},
      {"Resize", "antialias"},
      {"Resize", "coordinate_transformation_mode tf_crop_and_resize"},
      {"ScatterElements", "reduction"},
      {"ScatterND", "reduction"},
      {"Shape", "no layer leads from its input"},
      {"Size", "no layer leads from its input"},
      {"Slice", "no layer leads from its input"},  // a result without elements
      {"Split", "no layer leads from its input"},  // the same
      {"Softmax", "topdnn supports only the last axis"},
      {"SoftmaxCrossEntropyLoss", "1 to 6 dimensions"}};
  return refusals;
}

bool IsKnownRefusal(const std::string& op_type, const std::string& reason) {
  if (reason.find("has no counterpart in topdnn") != std::string::npos) return true;  // a type
  if (reason.find("dimension 1 is open") != std::string::npos) return true;           // extent 0
  if (reason.find("topdnn computes it on float alone") != std::string::npos) return true;
  if (reason.find("a cast to ONNX's type") != std::string::npos) return true;
  const auto [first, last] = KnownRefusals().equal_range(op_type);
  return std::any_of(first, last, [&](const auto& known) {
    return reason.find(known.second) != std::string::npos;
  });
}

// A backend and a type in which it computes the cases. The reference in f64 is what all other tests
// compare with.
struct Target {
  std::string backend;
  DataType type = DataType::kF32;

  std::string name() const { return backend + " in " + std::string(NameOf(type)); }
};

std::vector<Target> Targets() {
  std::vector<Target> targets = {{"reference", DataType::kF64}};
  for (const std::string& backend : Backends()) {
    if (backend != kNative) targets.push_back({backend});  // it serves oneDNN and OpenBLAS
  }
  return targets;
}

// The published results are those of f32: in f64, some quotients are on the other side of the tie
// between two integers.
bool IsLeftOut(const Target& target, const std::string& op_type) {
  return target.type == DataType::kF64 && op_type == "DynamicQuantizeLinear";
}

// The worst outcome of the runs whose operation the backend has. Nothing when it has none of them.
std::optional<NodeOutcome> WorstOutcome(const std::vector<NodeRun>& runs, const Target& target) {
  std::optional<NodeOutcome> worst;
  for (const NodeRun& run : runs) {
    EXPECT_TRUE(HasKernel("reference", *run.op)) << run.op->kind();
    if (!HasKernel(target.backend, *run.op)) continue;
    const NodeOutcome outcome = RunOn(target.backend, run, target.type);
    if (!worst || outcome.verdict > worst->verdict) worst = outcome;
  }
  return worst;
}

// Counts an outcome. Returns whether the results agree.
bool Count(const NodeOutcome& outcome, const std::string& kind, const std::string& name,
           const Target& target) {
  if (outcome.verdict == NodeVerdict::kRefused) {
    EXPECT_NE(target.backend, "reference") << name << " refused: " << outcome.why;
    CountLeftOut(kind + target.name(), name, outcome.why);
    return false;
  }
  if (outcome.verdict == NodeVerdict::kDiffers) {
    ADD_FAILURE() << name << " on " << target.name() << ": " << outcome.why;
    return false;
  }
  CountCase(kind + target.name());
  const std::string bound = "ONNX results within the bound of kernels/check/tolerance.h";
  if (outcome.verdict == NodeVerdict::kWithinTolerance) {
    CountCase(bound);
  } else {
    CountLeftOut(bound, name + " on " + target.name(),
                 "within ONNX's rtol 1e-3 and atol 1e-7 alone");
  }
  return true;
}

class OnnxNodeTest : public testing::Test {
 protected:
  // The cases of a folder; none when a tensor of it is of a type that is known to be missing here.
  static std::vector<NodeCase> Read(const CaseFolder& folder) {
    try {
      return ReadCases(folder.name);
    } catch (const std::runtime_error& error) {
      EXPECT_TRUE(IsKnownRefusal(folder.op_type, error.what())) << error.what();
      CountLeftOut("ONNX cases", folder.name, error.what());
      return {};
    }
  }

  // Runs the case as a network for each output. Returns the reason why the importer refuses the
  // first of them that it refuses, or nothing.
  std::string RunImported(const NodeCase& node) {
    if (node.Input(0) == nullptr || node.Input(0)->values.empty()) return "without elements";
    std::string refusal;
    std::set<std::string> agree;
    for (const auto& [output, model] : node.models) {
      const ImportedCase imported(node, output);
      if (!imported.refusal().empty()) {
        EXPECT_TRUE(IsKnownRefusal(node.op_type, imported.refusal()))
            << node.name << ": " << imported.refusal();
        if (refusal.empty()) refusal = imported.refusal();
        continue;
      }
      for (const Target& target : Targets()) {
        if (IsLeftOut(target, node.op_type)) continue;
        const NodeOutcome outcome = imported.RunOn(target.backend, target.type);
        if (Count(outcome, "ONNX cases as networks on ", node.name, target)) {
          agree.insert(target.name());
        }
      }
    }
    for (const std::string& target : agree) ++imported_[target];
    return refusal;
  }

  // Runs the case as single operations. Returns the reason why it is left out, or nothing.
  static std::string RunTranslated(const NodeCase& node) {
    const Translation translation = Translate(node);
    if (!translation.left_out.empty()) return translation.left_out;
    EXPECT_FALSE(translation.runs.empty()) << node.name << " checks nothing";
    for (const Target& target : Targets()) {
      if (const auto worst = WorstOutcome(translation.runs, target)) {
        Count(*worst, "ONNX cases as operations on ", node.name, target);
      }
    }
    if (!translation.not_compared.empty()) {
      CountLeftOut("ONNX outputs", node.name, translation.not_compared);
    }
    return "";
  }

  void RunCases(const std::string& op_type) {
    const bool is_imported = FindTranslator(op_type) != nullptr;
    imported_.clear();
    for (const CaseFolder& folder : folders_) {
      if (folder.op_type != op_type) continue;
      if (folder.expanded) {
        CountLeftOut("ONNX cases", folder.name,
                     "the node expanded into a function of several other nodes");
        continue;
      }
      for (const NodeCase& node : Read(folder)) {
        const std::string not_imported = is_imported ? RunImported(node) : "no importer";
        const std::string not_translated = RunTranslated(node);
        if (not_imported.empty() || not_translated.empty()) {
          CountCase("ONNX cases");
        } else {
          CountLeftOut("ONNX cases", node.name, not_imported + "; " + not_translated);
        }
      }
    }
    if (is_imported) CheckEnoughRan(op_type);
  }

  void CheckEnoughRan(const std::string& op_type) {
    ASSERT_TRUE(LeastImported().contains(op_type))
        << "add it to operations.csv with " << imported_["reference in f64"];
    for (const Target& target : Targets()) {
      if (IsLeftOut(target, op_type) || !AreDocumentedCases()) continue;
      EXPECT_GE(imported_[target.name()], LeastImportedOn(target.backend, op_type))
          << target.name();
    }
  }

  const std::vector<CaseFolder> folders_ =
      HasCases() ? FindCaseFolders() : std::vector<CaseFolder>();
  // Number of cases of an operation that ran as networks, by target.
  std::map<std::string, int> imported_;
};

TEST_F(OnnxNodeTest, EveryCaseAgreesOnEveryBackend) {
  if (!HasCases()) GTEST_SKIP() << kNoCases;
  std::set<std::string> operations;
  for (const std::string& op_type : ImportedOperations()) operations.insert(op_type);
  for (const std::string& op_type : TranslatedOperations()) operations.insert(op_type);
  for (const std::string& op_type : operations) {
    SCOPED_TRACE(op_type);
    RunCases(op_type);
  }
  for (const auto& [op_type, least] : LeastImported()) {
    EXPECT_NE(FindTranslator(op_type), nullptr) << "operations.csv lists " << op_type;
  }
}

// The table has each operation that the import translates. TOPDNN_WRITE_DOCS=1 writes it.
TEST(OnnxDocumentationTest, TheTableIsGenerated) {
  std::string table = "| operation | node tests | limits |\n| --- | --- | --- |\n";
  std::vector<std::string> names;
  for (const DocumentedOperation& one : DocumentedOperations()) {
    names.push_back(one.name);
    table += fmt::format("| {} | {} |{} |\n", one.name, one.least,
                         one.limits.empty() ? "" : " " + one.limits);
  }
  EXPECT_EQ(names, ImportedOperations());
  const std::string path = TOPDNN_SOURCE_DIR "/docs/onnx.md";
  std::ifstream file(path);
  std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = page.find("| operation | node tests"), end = page.find("\n\n", begin);
  ASSERT_NE(begin, std::string::npos);
  if (std::getenv("TOPDNN_WRITE_DOCS") != nullptr) {
    page.replace(begin, end + 1 - begin, table);
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(begin, end + 1 - begin), table)
      << "write it: TOPDNN_WRITE_DOCS=1 build/release/tests/test_networks_onnx "
         "--gtest_filter='OnnxDocumentationTest.*'";
}

class LightModelTest : public testing::TestWithParam<std::string> {};

// The ONNX project's backend test runs them on 0/n, 1/n, 2/n, ... for an input of n elements. All
// but DenseNet end in a softmax of equal values, so their results check the import and the shapes,
// and DenseNet's checks the arithmetic, too.
TEST_P(LightModelTest, HasThePublishedResult) {
  const std::filesystem::path folder = kOnnxLightModels;
  const std::filesystem::path model = folder / ("light_" + GetParam() + ".onnx");
  if (!std::filesystem::exists(model)) {
    GTEST_SKIP() << "libonnx-testdata has no light models before version 1.13";
  }
  std::ifstream file(model, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const ImportedNetwork network = ImportOnnx(bytes, {});
  const auto count = static_cast<std::size_t>(network.graph.shape(0).elements());
  std::vector<double> input(count);
  for (std::size_t i = 0; i < count; ++i) {
    input[i] = static_cast<double>(i) / static_cast<double>(count);
  }
  const OnnxTensor expected = ReadTensor(folder / ("light_" + GetParam() + "_output_0.pb"));
  const auto result = RunGraph(network.graph, network.parameters, input, "onednn");
  const NodeOutcome outcome = Compare(result, expected.values, 1e-4);
  EXPECT_EQ(outcome.verdict, NodeVerdict::kWithinTolerance) << outcome.why;
}

INSTANTIATE_TEST_SUITE_P(Onnx, LightModelTest,
                         testing::Values("bvlc_alexnet", "densenet121", "inception_v1",
                                         "inception_v2", "resnet50", "shufflenet", "squeezenet",
                                         "vgg19", "zfnet512"),
                         [](const auto& test) { return test.param; });

TEST(OnnxNodeCheckTest, AWrongResultIsFound) {
  if (!HasCases()) GTEST_SKIP() << kNoCases;
  Translation sum = Translate(ReadCases("test_add").at(0));
  EXPECT_EQ(RunOn("reference", sum.runs.at(0), DataType::kF32).verdict,
            NodeVerdict::kWithinTolerance);
  sum.runs[0].expected[Arg::kDst][17] += 0.01;
  const NodeOutcome wrong = RunOn("reference", sum.runs[0], DataType::kF32);
  EXPECT_EQ(wrong.verdict, NodeVerdict::kDiffers);
  EXPECT_NE(wrong.why.find("dst[17] is "), std::string::npos) << wrong.why;
  sum.runs[0].expected[Arg::kDst].pop_back();
  EXPECT_EQ(RunOn("reference", sum.runs[0], DataType::kF32).verdict, NodeVerdict::kDiffers);
  sum.runs[0].inputs.clear();
  EXPECT_EQ(RunOn("reference", sum.runs[0], DataType::kF32).verdict, NodeVerdict::kDiffers);
}

TEST(OnnxNodeCheckTest, ReportsTheTightestBoundThatHolds) {
  const std::vector<double> expected = {1, 0.001};
  const auto verdict = [&](std::vector<double> actual) {
    return Compare(actual, expected, 1e-5).verdict;
  };
  EXPECT_EQ(verdict({1 + 1e-6, 0.001 + 1e-6}), NodeVerdict::kWithinTolerance);
  EXPECT_EQ(verdict({1 + 1e-4, 0.001}), NodeVerdict::kWithinOnnx);
  EXPECT_EQ(verdict({1 + 1e-2, 0.001}), NodeVerdict::kDiffers);
  EXPECT_EQ(verdict({1 + 1e-4, 0.0011}), NodeVerdict::kDiffers);
  EXPECT_EQ(verdict({std::numeric_limits<double>::quiet_NaN(), 0.001}), NodeVerdict::kDiffers);
}

TEST(OnnxNodeCheckTest, AxesMoveAndTensorsRepeat) {
  const AxisView view = Around({2, 3, 2}, -2);
  EXPECT_EQ(AxisLast({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, view),
            (std::vector<double>{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}));
  const OnnxTensor column{{2, 1}, DataType::kF32, {1, 2}};
  EXPECT_EQ(Broadcast(column, {2, 2, 3}),
            (std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_THROW(Broadcast(column, {3, 3}), std::invalid_argument);
}

}  // namespace
}  // namespace topdnn
