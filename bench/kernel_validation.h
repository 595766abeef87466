// Kernels whose FLOPs are known from their shapes, counted and judged.

#ifndef TOPDNN_BENCH_KERNEL_VALIDATION_H_
#define TOPDNN_BENCH_KERNEL_VALIDATION_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/validation.h"

namespace topdnn {

// Convolutions and matrix products on these backends at `threads`, one case each. `say` hears what
// is going on.
std::vector<ValidationCase> ValidateKernels(const ValidationSources& sources,
                                            const std::vector<std::string>& backends, int threads,
                                            const std::function<void(std::string_view)>& say);

// Waits until idle pools have stopped looking for work: Eigen's workers spin for a while first,
// which a count would take for work beside its region.
void LetPoolsPark();

// oneDNN's at each ISA below the machine's own, in a process of this program for each: oneDNN
// settles its ISA once. The levels' names are those of DNNL_MAX_CPU_ISA.
std::vector<ValidationCase> ValidateOneDnnAtLevels(
    const std::function<void(std::string_view)>& say);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_KERNEL_VALIDATION_H_
