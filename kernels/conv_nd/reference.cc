#include "kernels/conv_nd/by_definition.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

ConvTriple TripleOf(Pass pass) {
  switch (pass) {
    case Pass::kBackwardData:
      return {Arg::kDiffSrc, Arg::kWeights, Arg::kDiffDst, Arg::kDiffSrc};
    case Pass::kBackwardWeights:
      return {Arg::kSrc, Arg::kDiffWeights, Arg::kDiffDst, Arg::kDiffWeights};
    case Pass::kForward:
      break;
  }
  return {Arg::kSrc, Arg::kWeights, Arg::kDst, Arg::kDst};
}

template <typename T>
class ConvNdReference : public ConvByDefinition<T> {
 public:
  ConvNdReference(const KernelRequest& request, const ConvNdOp& op)
      : ConvByDefinition<T>(request, op.extents(), TripleOf(request.execution.pass)) {}
};

double ConvNdElement(const Op& op, Pass pass, const Values& inputs, Arg /*result*/,
                     std::int64_t index) {
  return ConvElementByDefinition(dynamic_cast<const ConvNdOp&>(op).extents(), TripleOf(pass),
                                 inputs, index);
}

const KernelRegistration kConvNdReference("conv_nd", "reference",
                                          MakeReference<ConvNdOp, ConvNdReference>);
const ElementRegistration kConvNdElement("conv_nd", ConvNdElement);

}  // namespace

}  // namespace topdnn
