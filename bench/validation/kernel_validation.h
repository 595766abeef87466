// Kernels whose FLOPs are known from their shapes, counted and judged.

#ifndef TOPDNN_BENCH_VALIDATION_KERNEL_VALIDATION_H_
#define TOPDNN_BENCH_VALIDATION_KERNEL_VALIDATION_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/validation.h"

namespace topdnn {

// Convolutions and matrix products on these backends at `threads`, one case each. A case that could
// not be counted there is repeated on one thread, and its name says so. `say` is called with a line
// of progress. An interrupt ends it after the current case.
std::vector<ValidationCase> ValidateKernels(const ValidationSources& sources,
                                            const std::vector<std::string>& backends, int threads,
                                            const std::function<void(std::string_view)>& say);

// Waits 50 ms, after which the workers of idle pools sleep. Eigen's workers spin for a while first,
// and the counter would take that for work outside its region.
void LetPoolsPark();

// Pure. The cases that the process for an ISA level has written (`topdnn validate --json -`).
// `status`: its exit status, or 128 and the number of the signal that ended it. If it ended early,
// the last case is INVALID, and says that the cases are partial, or that there are none.
std::vector<ValidationCase> CasesOfLevel(const std::string& level, const std::string& result,
                                         int status);

// oneDNN's kernels at the ISA levels SSE41 and AVX2 (names of DNNL_MAX_CPU_ISA), as far as they are
// below the machine's own. Each level runs in a child process: oneDNN chooses its ISA once per
// process. An interrupt ends it after the current level.
std::vector<ValidationCase> ValidateOneDnnAtLevels(
    const std::function<void(std::string_view)>& say);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_VALIDATION_KERNEL_VALIDATION_H_
