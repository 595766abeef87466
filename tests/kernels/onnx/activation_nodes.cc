// Relu.

#include <memory>

#include "kernels/activation/relu.h"
#include "tests/kernels/onnx/node_translation.h"

namespace topdnn {

Translation TranslateRelu(const NodeCase& node) {
  const OnnxTensor& src = *node.Input(0);
  return {{{std::make_shared<ReluOp>(src.shape),
            InferenceOf(node),
            {{Arg::kSrc, src.values}},
            {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace topdnn
