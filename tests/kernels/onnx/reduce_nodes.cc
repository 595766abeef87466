// ReduceSum and ReduceMean.

#include <memory>
#include <numeric>

#include "kernels/reduce/reduce.h"
#include "tests/kernels/onnx/node_translation.h"

namespace topdnn {

namespace {

// The node's axes, from 0 on: an attribute or an optional input. Empty when it names none.
std::vector<int> AxesOf(const NodeCase& node) {
  const int rank = node.Input(0)->shape.rank();
  std::vector<int> axes;
  const auto add = [&](std::int64_t axis) {
    axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  };
  for (const std::int64_t axis : node.Ints("axes", {})) add(axis);
  if (const OnnxTensor* input = node.Input(1)) {
    for (const double axis : input->values) add(static_cast<std::int64_t>(axis));
  }
  return axes;
}

Translation TranslateReduce(const NodeCase& node, ReduceAlgorithm algorithm) {
  const OnnxTensor& src = *node.Input(0);
  std::vector<int> axes = AxesOf(node);
  if (axes.empty()) {
    if (node.Int("noop_with_empty_axes", 0) != 0) {
      return LeaveOut("a reduction over no axis is a copy: topdnn needs an axis");
    }
    axes.resize(static_cast<std::size_t>(src.shape.rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return {{{std::make_shared<ReduceOp>(algorithm, src.shape, axes, node.Int("keepdims", 1) != 0),
            InferenceOf(node),
            {{Arg::kSrc, src.values}},
            {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace

Translation TranslateReduceSum(const NodeCase& node) {
  return TranslateReduce(node, ReduceAlgorithm::kSum);
}

Translation TranslateReduceMean(const NodeCase& node) {
  return TranslateReduce(node, ReduceAlgorithm::kMean);
}

}  // namespace topdnn
