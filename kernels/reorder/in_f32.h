// A computation of bf16 tensors by an f32 kernel: it converts the operands before, and the results
// after. CPUs without fast bf16 instructions multiply in f32 at a higher rate: an Emerald Rapids
// without AMX at twice the rate of its AVX512-BF16.

#ifndef TOPDNN_KERNELS_REORDER_IN_F32_H_
#define TOPDNN_KERNELS_REORDER_IN_F32_H_

#include <string>
#include <string_view>

#include "kernels/kernel/kernel.h"

namespace topdnn {

// Serves a bf16 request by `backend` in f32, with `algorithm`, and by oneDNN's reorders. Products
// of two bf16 numbers are exact in f32, so the sums are as accurate as those of bf16 instructions.
KernelOrRefusal MakeInF32(const KernelRequest& request, std::string_view backend,
                          const std::string& algorithm);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_REORDER_IN_F32_H_
