// Seeded inputs for an operation, legal for the role of each operand and exact in its type, so that
// every backend and the reference compute on the same numbers.

#ifndef TOPDNN_KERNELS_RANDOM_INPUTS_H_
#define TOPDNN_KERNELS_RANDOM_INPUTS_H_

#include <cstdint>

#include "kernels/element.h"
#include "kernels/op.h"

namespace topdnn {

// Uniform in [-1, 1), rounded to the type; variances and second moments positive; whole numbers for
// labels, steps and integer types, the 8-bit ones within 7 bits. A workspace is left out: its form
// is a backend's own.
Values RandomInputs(const Op& op, const Execution& execution, std::uint64_t seed);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_RANDOM_INPUTS_H_
