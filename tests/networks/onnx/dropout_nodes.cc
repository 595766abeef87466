// Dropout.

#include <memory>

#include "kernels/dropout/dropout.h"
#include "tests/networks/onnx/node_translation.h"

namespace topdnn {

namespace {

constexpr float kUsualRatio = 0.5F;

// The ratio: an attribute up to opset 11, an optional input from opset 12 on.
float RatioOf(const NodeCase& node) {
  if (const OnnxTensor* ratio = node.Input(1)) return static_cast<float>(ratio->values[0]);
  return node.Float("ratio", kUsualRatio);
}

// The elements that the published mask keeps. When the mask is not an output: all elements that did
// not become 0.
std::vector<double> MaskOf(const NodeCase& node) {
  if (const OnnxTensor* mask = node.Output(1)) return mask->values;
  std::vector<double> mask = node.Output(0)->values;
  for (double& kept : mask) kept = kept != 0 ? 1 : 0;
  return mask;
}

}  // namespace

Translation TranslateDropout(const NodeCase& node) {
  const OnnxTensor& src = *node.Input(0);
  const std::vector<double>& dst = node.Output(0)->values;
  const OnnxTensor* is_training = node.Input(2);
  const float ratio = RatioOf(node);
  const auto op = std::make_shared<DropoutOp>(src.shape, ratio);
  Translation translation;
  if (is_training == nullptr || is_training->values[0] == 0) {
    translation.runs = {{op, InferenceOf(node), {{Arg::kSrc, src.values}}, {{Arg::kDst, dst}}}};
    if (node.Output(1) != nullptr) {
      translation.not_compared = "mask: topdnn draws no mask in inference";
    }
    return translation;
  }
  // ONNX does not define the generator and publishes NumPy's mask. topdnn's backward pass
  // multiplies by a given mask in the same way as forward multiplies by the mask that it draws.
  translation.runs = {{op,
                       {Pass::kBackwardData, true, src.type},
                       {{Arg::kDiffDst, src.values}, {Arg::kWorkspace, MaskOf(node)}},
                       {{Arg::kDiffSrc, dst}}}};
  if (ratio == 0.0F) {
    translation.runs.push_back({op,
                                {Pass::kForward, true, src.type},
                                {{Arg::kSrc, src.values}, {Arg::kStep, {0}}},
                                {{Arg::kDst, dst}, {Arg::kWorkspace, MaskOf(node)}}});
  }
  return translation;
}

}  // namespace topdnn
