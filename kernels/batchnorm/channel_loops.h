// Batch normalization in f32 as loops over vectors of channels, for the layouts of oneDNN: channels
// last, or in blocks. Fuses a ReLU with or without a bound. Training reads src twice and writes dst
// once; oneDNN reads src three times, and has no kernel with a bounded ReLU (docs/own-kernels.md).

#ifndef TOPDNN_KERNELS_BATCHNORM_CHANNEL_LOOPS_H_
#define TOPDNN_KERNELS_BATCHNORM_CHANNEL_LOOPS_H_

#include "kernels/kernel/kernel.h"

namespace topdnn {

// Refuses other types and layouts, and channels that are no multiple of four. The workspace has one
// byte per element, in the layout of src.
KernelOrRefusal MakeBatchNormChannelLoops(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BATCHNORM_CHANNEL_LOOPS_H_
