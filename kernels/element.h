// Single elements of a result by an operation's definition. A result of 10^11 multiply-accumulates
// is checked at some of its elements, each exactly, where the whole reference would take minutes.
//
//   const ElementRegistration kElement("conv", ConvElement);

#ifndef TOPDNN_KERNELS_ELEMENT_H_
#define TOPDNN_KERNELS_ELEMENT_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

// Logical tensors by role, row-major.
using Values = std::map<Arg, std::vector<double>>;

// The element at row-major position `index` of the operand `result`, from the pass's inputs (an
// operand that is both holds what it held before).
using ElementFunction = double (*)(const Op& op, Pass pass, const Values& inputs, Arg result,
                                   std::int64_t index);

class ElementRegistration {
 public:
  ElementRegistration(std::string_view kind, ElementFunction function);
};

// Of an operation, or nullptr where only the whole reference checks it.
ElementFunction FindElement(std::string_view kind);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELEMENT_H_
