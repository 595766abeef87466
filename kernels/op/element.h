// Computes single elements of a result from an operation's definition. A check of a large result
// (10^11 multiply-accumulates) computes some of its elements exactly; the whole reference would
// take minutes.
//
//   const ElementRegistration kElement("conv", ConvElement);

#ifndef TOPDNN_KERNELS_OP_ELEMENT_H_
#define TOPDNN_KERNELS_OP_ELEMENT_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Logical tensors by role, each in row-major order.
using Values = std::map<Arg, std::vector<double>>;

// Returns the element at row-major position `index` of the operand `result`. `inputs` are the
// pass's inputs; an operand that is both input and output is given as it was before the pass.
using ElementFunction = double (*)(const Op& op, Pass pass, const Values& inputs, Arg result,
                                   std::int64_t index);

class ElementRegistration {
 public:
  ElementRegistration(std::string_view kind, ElementFunction function);
};

// The element function of an operation, or nullptr when only the whole reference can check it.
ElementFunction FindElement(std::string_view kind);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OP_ELEMENT_H_
