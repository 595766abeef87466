// Concat and Flatten: elements that only move.

#include <memory>
#include <stdexcept>

#include "kernels/concat/concat.h"
#include "kernels/flatten/flatten.h"
#include "tests/kernels/onnx/node_translation.h"

namespace topdnn {

Translation TranslateConcat(const NodeCase& node) {
  const std::int64_t axis = node.Int("axis", 0);
  const int rank = node.Input(0)->shape.rank();
  std::vector<Shape> sources;
  Values inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    sources.push_back(node.Input(i)->shape);
    inputs[MultipleSrc(static_cast<int>(i))] = node.Input(i)->values;
  }
  return {{{std::make_shared<ConcatOp>(std::move(sources),
                                       static_cast<int>(axis < 0 ? axis + rank : axis)),
            InferenceOf(node),
            std::move(inputs),
            {{Arg::kDst, node.Output(0)->values}}}}};
}

Translation TranslateFlatten(const NodeCase& node) {
  const OnnxTensor& src = *node.Input(0);
  const int rank = src.shape.rank();
  const std::int64_t axis = node.Int("axis", 1);
  const auto first = static_cast<int>(axis < 0 ? axis + rank : axis);
  // topdnn keeps the first dimension: those before the axis become one.
  std::vector<std::int64_t> extents = {1};
  for (int d = 0; d < rank; ++d) {
    if (d < first) {
      extents[0] *= src.shape[d];
    } else {
      extents.push_back(src.shape[d]);
    }
  }
  const auto op = std::make_shared<FlattenOp>(Shape(std::move(extents)));
  if (op->dst_shape() != node.Output(0)->shape) {
    throw std::logic_error(node.name + ": flattened to " + op->dst_shape().ToString());
  }
  return {
      {{op, InferenceOf(node), {{Arg::kSrc, src.values}}, {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace topdnn
