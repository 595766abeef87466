// Runs one translated operation on one backend and compares it with the results that ONNX
// publishes.

#ifndef TOPDNN_TESTS_KERNELS_ONNX_NODE_VERDICT_H_
#define TOPDNN_TESTS_KERNELS_ONNX_NODE_VERDICT_H_

#include <set>
#include <span>
#include <string>

#include "tests/kernels/onnx/node_translation.h"

namespace topdnn {

// ONNX's own tests accept |actual - expected| <= atol + rtol * |expected|
// (onnx/backend/test/runner/__init__.py, and onnx/backend/test/case/test_case.py for the values).
inline constexpr double kOnnxRelative = 1e-3;
inline constexpr double kOnnxAbsolute = 1e-7;

enum class NodeVerdict {
  kWithinTolerance,  // within the bound of kernels/tolerance.h
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

// All backends that have the operation.
std::set<std::string> BackendsOf(const Op& op);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_ONNX_NODE_VERDICT_H_
