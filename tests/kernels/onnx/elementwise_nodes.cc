// Relu, Clip, Sigmoid, HardSigmoid and Add: element by element.

#include <limits>
#include <memory>
#include <utility>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/eltwise/add.h"
#include "tests/kernels/onnx/node_translation.h"

namespace topdnn {

namespace {

// A bound of Clip: an attribute up to opset 6, an optional input from opset 11 on.
float BoundOf(const NodeCase& node, const std::string& name, std::size_t input, float otherwise) {
  const OnnxTensor* bound = node.Input(input);
  return bound != nullptr ? static_cast<float>(bound->values[0]) : node.Float(name, otherwise);
}

Translation FromOneTensor(const NodeCase& node, std::shared_ptr<const Op> op) {
  return {{{std::move(op),
            InferenceOf(node),
            {{Arg::kSrc, node.Input(0)->values}},
            {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace

Translation TranslateRelu(const NodeCase& node) {
  return FromOneTensor(node, std::make_shared<ReluOp>(node.Input(0)->shape));
}

Translation TranslateSigmoid(const NodeCase& node) {
  return FromOneTensor(node, std::make_shared<SigmoidOp>(node.Input(0)->shape));
}

Translation TranslateHardSigmoid(const NodeCase& node) {
  return FromOneTensor(
      node, std::make_shared<HardSigmoidOp>(node.Input(0)->shape, node.Float("alpha", 0.2F),
                                            node.Float("beta", 0.5F)));
}

Translation TranslateClip(const NodeCase& node) {
  constexpr float kUnbounded = std::numeric_limits<float>::infinity();
  return FromOneTensor(
      node, std::make_shared<ClipOp>(node.Input(0)->shape, BoundOf(node, "min", 1, -kUnbounded),
                                     BoundOf(node, "max", 2, kUnbounded)));
}

Translation TranslateAdd(const NodeCase& node) {
  const OnnxTensor& dst = *node.Output(0);
  // topdnn adds only tensors of one shape.
  return {{{std::make_shared<AddOp>(dst.shape, 2),
            InferenceOf(node),
            {{IndexedSrc(0), Broadcast(*node.Input(0), dst.shape)},
             {IndexedSrc(1), Broadcast(*node.Input(1), dst.shape)}},
            {{Arg::kDst, dst.values}}}}};
}

}  // namespace topdnn
