// Kernels whose FLOPs are known from their shapes, counted and judged.

#ifndef TOPDNN_BENCH_KERNEL_VALIDATION_H_
#define TOPDNN_BENCH_KERNEL_VALIDATION_H_

#include <functional>
#include <string_view>
#include <vector>

#include "harness/validation.h"

namespace topdnn {

// Convolutions and matrix products of every backend that offers them, at `threads`, one case each.
// `say` hears what is going on.
std::vector<ValidationCase> ValidateKernels(const ValidationSources& sources, int threads,
                                            const std::function<void(std::string_view)>& say);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_KERNEL_VALIDATION_H_
