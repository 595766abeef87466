#include "kernels/conv_nd/by_definition.h"
#include "kernels/conv_transpose/conv_transpose.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// The windows are over dst, and src has an element for each.
ConvTriple TransposeTripleOf(Pass pass) {
  switch (pass) {
    case Pass::kBackwardData:
      return {Arg::kDiffDst, Arg::kWeights, Arg::kDiffSrc, Arg::kDiffSrc};
    case Pass::kBackwardWeights:
      return {Arg::kDiffDst, Arg::kDiffWeights, Arg::kSrc, Arg::kDiffWeights};
    case Pass::kForward:
      break;
  }
  return {Arg::kDst, Arg::kWeights, Arg::kSrc, Arg::kDst};
}

template <typename T>
class ConvTransposeReference : public ConvByDefinition<T> {
 public:
  ConvTransposeReference(const KernelRequest& request, const ConvTransposeOp& op)
      : ConvByDefinition<T>(request, op.extents(), TransposeTripleOf(request.execution.pass)) {}
};

double ConvTransposeElement(const Op& op, Pass pass, const Values& inputs, Arg /*result*/,
                            std::int64_t index) {
  return ConvElementByDefinition(dynamic_cast<const ConvTransposeOp&>(op).extents(),
                                 TransposeTripleOf(pass), inputs, index);
}

const KernelRegistration kConvTransposeReference(
    "conv_transpose", "reference", MakeReference<ConvTransposeOp, ConvTransposeReference>);
const ElementRegistration kConvTransposeElement("conv_transpose", ConvTransposeElement);

}  // namespace

}  // namespace topdnn
