// Translates an ONNX node to topdnn's operations: the runs, their tensors and the expected results.
// It is for cases that the importer does not take: losses, updates, training, several tensors, and
// products that are not a layer of a network.
// ONNX and topdnn differ in form (softmax along any axis of any rank; softmax over the rows of a
// matrix). A translator only rearranges the published numbers; it never computes what the kernel
// under test computes.

#ifndef TOPDNN_TESTS_NETWORKS_ONNX_NODE_TRANSLATION_H_
#define TOPDNN_TESTS_NETWORKS_ONNX_NODE_TRANSLATION_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/op/op.h"
#include "tests/kernels/kernel_check.h"
#include "tests/networks/onnx/node_case.h"

namespace topdnn {

// One operation, its inputs, and its results as far as they are published.
struct NodeRun {
  std::shared_ptr<const Op> op;
  Execution execution;
  Values inputs;
  Values expected;
};

struct Translation {
  std::vector<NodeRun> runs;
  std::string left_out = {};      // the reason why there are no runs
  std::string not_compared = {};  // an output that no kernel computes, with the reason
};

inline Translation LeaveOut(std::string reason) {
  return {.runs = {}, .left_out = std::move(reason)};
}

using CaseTranslator = Translation (*)(const NodeCase& node);

// The op_types that have a translator.
std::vector<std::string> TranslatedOperations();

// Translates with the translator of the node's op_type. Leaves the case out when there is none and
// when no kernel computes in the node's type.
Translation Translate(const NodeCase& node);

// Forward in inference, in the type of the node's first input.
Execution InferenceOf(const NodeCase& node);

// A tensor seen as (outer, along, inner) around one axis. A negative axis counts from the end.
struct AxisView {
  std::int64_t outer, along, inner;
};
AxisView Around(const Shape& shape, std::int64_t axis);

// The elements of (outer, along, inner) in the order (outer, inner, along): the axis is moved last.
std::vector<double> AxisLast(const std::vector<double>& values, const AxisView& view);

// Repeats a tensor along the axes in which `to` is larger, by ONNX's (NumPy's) rule: shapes are
// aligned at the last axis, and an extent of 1 is repeated. Throws std::invalid_argument when the
// shapes do not match.
std::vector<double> Broadcast(const OnnxTensor& from, const Shape& to);

// In the *_nodes.cc of this folder.
Translation TranslateAdam(const NodeCase& node);
Translation TranslateAdd(const NodeCase& node);
Translation TranslateBatchNormalization(const NodeCase& node);
Translation TranslateConcat(const NodeCase& node);
Translation TranslateDropout(const NodeCase& node);
Translation TranslateGemm(const NodeCase& node);
Translation TranslateMatMul(const NodeCase& node);
Translation TranslateMomentum(const NodeCase& node);
Translation TranslateSoftmax(const NodeCase& node);
Translation TranslateSoftmaxCrossEntropyLoss(const NodeCase& node);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_ONNX_NODE_TRANSLATION_H_
