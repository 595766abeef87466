// Seeded inputs for an operation. They are valid for the role of each operand and exactly
// representable in its type, so all backends and the reference compute on the same numbers.

#ifndef TOPDNN_KERNELS_CHECK_RANDOM_INPUTS_H_
#define TOPDNN_KERNELS_CHECK_RANDOM_INPUTS_H_

#include <cstdint>

#include "kernels/op/element.h"
#include "kernels/op/op.h"

namespace topdnn {

// Uniform in [-1, 1), or in the domain of the function (logarithm, root, power), rounded to the
// type. Variances and second moments are positive. Labels, steps, indices and integer types get
// whole numbers; 8-bit ones use 7 bits. Workspaces are left out, because their format is the
// backend's own.
Values RandomInputs(const Op& op, const Execution& execution, std::uint64_t seed);

// The magnitudes of the inputs. The reference computes sums of |terms| from them, which scale the
// rounding errors. (A learning rate is subtracted, so it becomes negative.)
Values Magnitudes(Values values);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CHECK_RANDOM_INPUTS_H_
