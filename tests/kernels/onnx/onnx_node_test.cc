// Every kernel against the ONNX project's node tests (see node_case.h). Each case runs on every
// backend that has the operation, or is counted as left out with the reason.

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/kernels/case_count.h"
#include "tests/kernels/onnx/node_case.h"
#include "tests/kernels/onnx/node_translation.h"
#include "tests/kernels/onnx/node_verdict.h"

namespace topdnn {
namespace {

bool HasCases() { return std::filesystem::is_directory(kOnnxNodeTests); }
constexpr const char* kNoCases = "the Debian package libonnx-testdata is not installed";

// Runs those runs of a case whose operation the backend has.
void RunCaseOn(const std::string& backend, DataType type, const NodeCase& node,
               const Translation& translation) {
  const std::string where = backend + " in " + std::string(NameOf(type));
  bool within_tolerance = true;
  for (const NodeRun& run : translation.runs) {
    if (!BackendsOf(*run.op).contains(backend)) continue;
    const NodeOutcome outcome = RunOn(backend, run, type);
    if (outcome.verdict == NodeVerdict::kRefused) {
      EXPECT_NE(backend, "reference") << node.name << " refused: " << outcome.why;
      CountLeftOut("ONNX cases on " + where, node.name, outcome.why);
      return;
    }
    if (outcome.verdict == NodeVerdict::kDiffers) {
      ADD_FAILURE() << node.name << " on " << where << ": " << outcome.why;
      return;
    }
    within_tolerance &= outcome.verdict == NodeVerdict::kWithinTolerance;
  }
  CountCase("ONNX cases on " + where);
  const std::string kind = "ONNX results within the bound of kernels/tolerance.h";
  if (within_tolerance) {
    CountCase(kind);
  } else {
    CountLeftOut(kind, node.name + " on " + where, "within ONNX's rtol 1e-3 and atol 1e-7 alone");
  }
}

void RunCase(const NodeCase& node) {
  const Translation translation = Translate(node);
  if (!translation.left_out.empty()) {
    CountLeftOut("ONNX cases", node.name, translation.left_out);
    return;
  }
  ASSERT_FALSE(translation.runs.empty()) << node.name << " checks nothing";
  std::set<std::string> backends;
  for (const NodeRun& run : translation.runs) {
    const std::set<std::string> of_run = BackendsOf(*run.op);
    EXPECT_TRUE(of_run.contains("reference")) << run.op->kind();
    backends.insert(of_run.begin(), of_run.end());
  }
  const DataType type = node.Input(0)->type;
  for (const std::string& backend : backends) RunCaseOn(backend, type, node, translation);
  // The reference in f64 is what all other tests compare with.
  if (type != DataType::kF64) RunCaseOn("reference", DataType::kF64, node, translation);
  CountCase("ONNX cases");
  if (!translation.not_compared.empty()) {
    CountLeftOut("ONNX outputs", node.name, translation.not_compared);
  }
}

class OnnxNodeTest : public testing::TestWithParam<std::string> {};

TEST_P(OnnxNodeTest, EveryCaseAgreesOnEveryBackend) {
  if (!HasCases()) GTEST_SKIP() << kNoCases;
  int cases = 0;
  for (const CaseFolder& folder : FindCaseFolders()) {
    if (folder.op_type != GetParam()) continue;
    ++cases;
    if (folder.expanded) {
      CountLeftOut("ONNX cases", folder.name,
                   "the node expanded into a function of several other nodes");
      continue;
    }
    for (const NodeCase& node : ReadCases(folder.name)) RunCase(node);
  }
  EXPECT_GT(cases, 0) << "no case has a node " << GetParam();
}

std::vector<std::string> OpTypes() {
  std::vector<std::string> types;
  for (const auto& [type, translator] : NodeTranslators()) types.push_back(type);
  return types;
}

INSTANTIATE_TEST_SUITE_P(Nodes, OnnxNodeTest, testing::ValuesIn(OpTypes()));

TEST(OnnxNodeCheckTest, AWrongResultIsFound) {
  if (!HasCases()) GTEST_SKIP() << kNoCases;
  Translation relu = Translate(ReadCases("test_relu").at(0));
  EXPECT_EQ(RunOn("reference", relu.runs.at(0), DataType::kF32).verdict,
            NodeVerdict::kWithinTolerance);
  relu.runs[0].expected[Arg::kDst][17] += 0.01;
  const NodeOutcome wrong = RunOn("reference", relu.runs[0], DataType::kF32);
  EXPECT_EQ(wrong.verdict, NodeVerdict::kDiffers);
  EXPECT_NE(wrong.why.find("dst[17] is "), std::string::npos) << wrong.why;
  relu.runs[0].expected[Arg::kDst].pop_back();
  EXPECT_EQ(RunOn("reference", relu.runs[0], DataType::kF32).verdict, NodeVerdict::kDiffers);
  relu.runs[0].inputs.clear();
  EXPECT_EQ(RunOn("reference", relu.runs[0], DataType::kF32).verdict, NodeVerdict::kDiffers);
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
