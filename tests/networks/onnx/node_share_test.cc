// Counts how many of the ONNX project's node tests run as networks on oneDNN, with all of their
// outputs, among those of operations that convolutional networks may have. docs/onnx.md has the
// numbers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/networks/onnx/node_case.h"
#include "tests/networks/onnx/node_verdict.h"

namespace topdnn {
namespace {

// The operations whose cases do not count, with the reason.
const std::map<std::string_view, std::string_view>& OtherOperations() {
  constexpr std::string_view kFlow = "control flow", kRecurrent = "a recurrent network",
                             kSequence = "sequences and optional values",
                             kRandom = "random numbers", kOptimizer = "an optimizer of training",
                             kText = "text", kSignal = "signal processing";
  static const std::map<std::string_view, std::string_view> operations = {
      {"If", kFlow},
      {"Loop", kFlow},
      {"Scan", kFlow},
      {"GRU", kRecurrent},
      {"LSTM", kRecurrent},
      {"RNN", kRecurrent},
      {"ConcatFromSequence", kSequence},
      {"OptionalGetElement", kSequence},
      {"OptionalHasElement", kSequence},
      {"SequenceInsert", kSequence},
      {"SequenceMap", kSequence},
      {"SplitToSequence", kSequence},
      {"Bernoulli", kRandom},
      {"Adagrad", kOptimizer},
      {"Adam", kOptimizer},
      {"Gradient", kOptimizer},
      {"Momentum", kOptimizer},
      {"RegexFullMatch", kText},
      {"StringConcat", kText},
      {"StringNormalizer", kText},
      {"StringSplit", kText},
      {"TfIdfVectorizer", kText},
      {"BlackmanWindow", kSignal},
      {"DFT", kSignal},
      {"HammingWindow", kSignal},
      {"HannWindow", kSignal},
      {"MelWeightMatrix", kSignal},
      {"STFT", kSignal}};
  return operations;
}

struct Share {
  int passed = 0, cases = 0;
};

// Whether the case runs with each of its outputs. A wrong result is a failure.
bool Passes(const NodeCase& node) {
  if (node.models.empty() || node.Input(0) == nullptr || node.Input(0)->values.empty())
    return false;
  bool all = true;
  for (const auto& [output, model] : node.models) {
    const ImportedCase imported(node, output);
    if (!imported.refusal().empty()) {
      all = false;
      continue;
    }
    const NodeOutcome outcome = imported.RunOn("onednn", DataType::kF32);
    EXPECT_NE(outcome.verdict, NodeVerdict::kDiffers) << node.name << ": " << outcome.why;
    all &= outcome.verdict != NodeVerdict::kDiffers && outcome.verdict != NodeVerdict::kRefused;
  }
  return all;
}

// The cases of a folder. One whose types this program lacks counts as refused.
Share ShareOf(const CaseFolder& folder) {
  Share share;
  try {
    for (const NodeCase& node : ReadCases(folder.name)) {
      ++share.cases;
      share.passed += Passes(node) ? 1 : 0;
    }
  } catch (const std::runtime_error&) {
    return {0, 1};
  }
  return share;
}

// "at least **N of M**" in docs/onnx.md.
Share Documented() {
  std::ifstream page(TOPDNN_SOURCE_DIR "/docs/onnx.md");
  Share share;
  for (std::string line; std::getline(page, line);) {
    const std::size_t at = line.find("**");
    if (at == std::string::npos) continue;
    std::istringstream words(line.substr(at + 2));
    std::string of;
    if (words >> share.passed >> of >> share.cases && of == "of") return share;
  }
  return {};
}

TEST(OnnxNodeShareTest, IsAtLeastTheDocumentedOne) {
  if (!std::filesystem::is_directory(kOnnxNodeTests)) {
    GTEST_SKIP() << "the Debian package libonnx-testdata is not installed";
  }
  std::map<std::string, Share> shares;
  std::map<std::string, int> others;
  Share all;
  for (const CaseFolder& folder : FindCaseFolders()) {
    const auto other = OtherOperations().find(folder.op_type);
    if (folder.expanded) {
      ++others["the function of a case that counts"];
    } else if (other != OtherOperations().end()) {
      ++others[std::string(other->second)];
    } else {
      const Share share = ShareOf(folder);
      const std::string name = folder.op_type.empty() ? "(several nodes)" : folder.op_type;
      shares[name].passed += share.passed;
      shares[name].cases += share.cases;
      all.passed += share.passed;
      all.cases += share.cases;
    }
  }
  for (const auto& [op_type, share] : shares) {
    fmt::print("{}: {} of {} node tests pass, {} refused\n", op_type, share.passed, share.cases,
               share.cases - share.passed);
  }
  for (const auto& [reason, count] : others) fmt::print("left out: {} ({})\n", count, reason);
  fmt::print("{} of {} node tests pass\n", all.passed, all.cases);
  std::fflush(stdout);
  const Share documented = Documented();
  ASSERT_GT(documented.cases, 0) << "docs/onnx.md lacks **" << all.passed << " of " << all.cases
                                 << "**";
  EXPECT_GE(documented.passed * 100, documented.cases * 60);
  if (all.cases != documented.cases) {
    GTEST_SKIP() << "these are the cases of another version than docs/onnx.md names";
  }
  EXPECT_GE(all.passed, documented.passed);
}

}  // namespace
}  // namespace topdnn
