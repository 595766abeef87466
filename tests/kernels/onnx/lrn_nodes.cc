// LRN.

#include <memory>

#include "kernels/lrn/lrn.h"
#include "tests/kernels/onnx/node_translation.h"

namespace topdnn {

Translation TranslateLrn(const NodeCase& node) {
  const OnnxTensor& src = *node.Input(0);
  const LrnSettings settings{.size = node.Int("size", 1),
                             .alpha = node.Float("alpha", 1e-4F),
                             .beta = node.Float("beta", 0.75F),
                             .k = node.Float("bias", 1.0F)};
  return {{{std::make_shared<LrnOp>(src.shape, settings),
            InferenceOf(node),
            {{Arg::kSrc, src.values}},
            {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace topdnn
