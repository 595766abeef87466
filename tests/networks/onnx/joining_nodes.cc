// Add and Concat: operations of several tensors.

#include <memory>
#include <utility>

#include "kernels/concat/concat.h"
#include "kernels/eltwise/add.h"
#include "tests/networks/onnx/node_translation.h"

namespace topdnn {

Translation TranslateAdd(const NodeCase& node) {
  const OnnxTensor& dst = *node.Output(0);
  // topdnn adds only tensors of one shape.
  return {{{std::make_shared<AddOp>(dst.shape, 2),
            InferenceOf(node),
            {{IndexedSrc(0), Broadcast(*node.Input(0), dst.shape)},
             {IndexedSrc(1), Broadcast(*node.Input(1), dst.shape)}},
            {{Arg::kDst, dst.values}}}}};
}

Translation TranslateConcat(const NodeCase& node) {
  const std::int64_t axis = node.Int("axis", 0);
  const int rank = node.Input(0)->shape.rank();
  std::vector<Shape> sources;
  Values inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    sources.push_back(node.Input(i)->shape);
    inputs[IndexedSrc(static_cast<int>(i))] = node.Input(i)->values;
  }
  return {{{std::make_shared<ConcatOp>(std::move(sources),
                                       static_cast<int>(axis < 0 ? axis + rank : axis)),
            InferenceOf(node),
            std::move(inputs),
            {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace topdnn
