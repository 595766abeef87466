// This machine's ceilings, measured once a run and width.

#ifndef TOPDNN_BENCH_MEASURED_CEILINGS_H_
#define TOPDNN_BENCH_MEASURED_CEILINGS_H_

#include <string_view>
#include <vector>

#include "harness/probes/ceilings.h"
#include "kernels/tensor.h"

namespace topdnn {

// Takes about a second when first asked for a width.
const std::vector<Ceiling>& MeasuredCeilings(int threads);

// The ceiling of a kernel that multiplies in this type, with code of this ISA, or nullptr.
const Ceiling* CeilingOfKernel(std::string_view isa, DataType type, int threads);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_MEASURED_CEILINGS_H_
