// Runs a case on one backend, as a network or as one translated operation, and compares it with the
// results that ONNX publishes.

#ifndef TOPDNN_TESTS_NETWORKS_ONNX_NODE_VERDICT_H_
#define TOPDNN_TESTS_NETWORKS_ONNX_NODE_VERDICT_H_

#include <optional>
#include <span>
#include <string>

#include "networks/onnx/import/importer.h"
#include "tests/networks/onnx/node_translation.h"

namespace topdnn {

// ONNX's own tests accept |actual - expected| <= atol + rtol * |expected|
// (onnx/backend/test/runner/__init__.py, and onnx/backend/test/case/test_case.py for the values).
inline constexpr double kOnnxRelative = 1e-3;
inline constexpr double kOnnxAbsolute = 1e-7;

enum class NodeVerdict {
  kWithinTolerance,  // within the bound of kernels/check/tolerance.h
  kWithinOnnx,       // only within ONNX's own bound
  kRefused,          // `why` is the backend's reason
  kDiffers,          // `why` names the operand, the first element that differs, and both values
};

struct NodeOutcome {
  NodeVerdict verdict;
  std::string why;
};

// Reports the tightest bound that holds.
NodeOutcome Compare(std::span<const double> actual, std::span<const double> expected,
                    double tolerance);

// Returns the worst outcome over the results of a run on two threads in `type`. The bound is that
// of the type in which the case is published.
NodeOutcome RunOn(const std::string& backend, const NodeRun& run, DataType type);

// Whether the backend, or topdnn's own code for it, has the operation.
bool HasKernel(const std::string& backend, const Op& op);

// A case that is imported as a network.
class ImportedCase {
 public:
  // The network of one output. `node` must outlive the object.
  ImportedCase(const NodeCase& node, std::size_t output);

  // The reason why the importer refuses the case; empty when it does not.
  const std::string& refusal() const { return refusal_; }
  // Runs one inference on two threads. The bound is that of the plan's longest sum. The verdict is
  // kRefused when a layer ran on another backend.
  NodeOutcome RunOn(const std::string& backend, DataType type) const;

 private:
  const NodeCase& node_;
  const std::size_t output_;
  std::optional<ImportedNetwork> network_;
  std::string refusal_;
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_ONNX_NODE_VERDICT_H_
