// Dropout as loops in f32 and bf16, for all backends, because none of their libraries has it. It
// accepts any layout without padding: the mask is drawn in the tensor's row-major order, whatever
// the order in memory. For rows it accepts any layout that keeps images together. Each backend runs
// the loops on its own threads, because spinning threads of another library would slow it down.

#ifndef TOPDNN_KERNELS_DROPOUT_LOOPS_H_
#define TOPDNN_KERNELS_DROPOUT_LOOPS_H_

#include <cstdint>
#include <functional>

#include "kernels/kernel/kernel.h"

namespace topdnn {

// Calls body(first, end) for ranges of blocks that cover [0, blocks), on the threads of a backend.
// A block has four elements.
using RangeRunner = std::function<void(
    std::int64_t blocks, const std::function<void(std::int64_t first, std::int64_t end)>& body)>;

// `make_runner` is called in Prepare.
KernelOrRefusal MakeDropoutLoops(const KernelRequest& request,
                                 std::function<RangeRunner()> make_runner);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_DROPOUT_LOOPS_H_
