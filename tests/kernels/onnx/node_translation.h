// From an ONNX node to topdnn's operations: which runs, on which tensors, must give what. ONNX
// and topdnn differ in form (one softmax along any axis of any rank, or over the rows of a matrix);
// a translator bridges it by rearranging the published numbers, never by computing what the kernel
// under test is to compute.

#ifndef TOPDNN_TESTS_KERNELS_ONNX_NODE_TRANSLATION_H_
#define TOPDNN_TESTS_KERNELS_ONNX_NODE_TRANSLATION_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/op.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/onnx/node_case.h"

namespace topdnn {

// One operation, its inputs and those of its results that are known.
struct NodeRun {
  std::shared_ptr<const Op> op;
  Execution execution;
  Values inputs;
  Values expected;
};

struct Translation {
  std::vector<NodeRun> runs;
  std::string left_out = {};      // why there are none
  std::string not_compared = {};  // an output that no kernel has, and why
};

inline Translation LeaveOut(std::string reason) {
  return {.runs = {}, .left_out = std::move(reason)};
}

using NodeTranslator = Translation (*)(const NodeCase& node);

// ONNX's op_type -> its translator: what topdnn can be held to.
const std::map<std::string, NodeTranslator>& NodeTranslators();

// By the translator of the node's op_type, unless no kernel computes in the node's type.
Translation Translate(const NodeCase& node);

// Forward, without what a backward pass would need, in the type of the node's first input.
Execution InferenceOf(const NodeCase& node);

// A tensor seen as (outer, along, inner) around one axis; a negative one counts from the end.
struct AxisView {
  std::int64_t outer, along, inner;
};
AxisView Around(const Shape& shape, std::int64_t axis);

// The elements of (outer, along, inner) in the order (outer, inner, along): the axis moved last.
std::vector<double> AxisLast(const std::vector<double>& values, const AxisView& view);

// Repeats a tensor along the axes in which `to` is larger, by ONNX's (NumPy's) rule: aligned at the
// last axis, 1 stretches. Throws std::invalid_argument when the shapes do not fit.
std::vector<double> Broadcast(const OnnxTensor& from, const Shape& to);

// A file each below this folder; the op_types stand in NodeTranslators().
Translation TranslateConv(const NodeCase& node);
Translation TranslateMaxPool(const NodeCase& node);
Translation TranslateAveragePool(const NodeCase& node);
Translation TranslateGlobalMaxPool(const NodeCase& node);
Translation TranslateGlobalAveragePool(const NodeCase& node);
Translation TranslateGemm(const NodeCase& node);
Translation TranslateMatMul(const NodeCase& node);
Translation TranslateBatchNormalization(const NodeCase& node);
Translation TranslateLrn(const NodeCase& node);
Translation TranslateDropout(const NodeCase& node);
Translation TranslateReduceSum(const NodeCase& node);
Translation TranslateReduceMean(const NodeCase& node);
Translation TranslateConcat(const NodeCase& node);
Translation TranslateFlatten(const NodeCase& node);
Translation TranslateTranspose(const NodeCase& node);
Translation TranslateResize(const NodeCase& node);
Translation TranslateUpsample(const NodeCase& node);
Translation TranslateAdd(const NodeCase& node);
Translation TranslateClip(const NodeCase& node);
Translation TranslateRelu(const NodeCase& node);
Translation TranslateSigmoid(const NodeCase& node);
Translation TranslateHardSigmoid(const NodeCase& node);
Translation TranslateSoftmax(const NodeCase& node);
Translation TranslateSoftmaxCrossEntropyLoss(const NodeCase& node);
Translation TranslateMomentum(const NodeCase& node);
Translation TranslateAdam(const NodeCase& node);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_ONNX_NODE_TRANSLATION_H_
