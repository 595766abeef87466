// The backend `native`: topdnn's own code, such as loops, loops over vectors of channels, and
// Winograd's algorithm. The backends of oneDNN and OpenBLAS contain calls of their library alone
// (tests/kernels/library_calls_test.cc).

#ifndef TOPDNN_KERNELS_KERNEL_NATIVE_H_
#define TOPDNN_KERNELS_KERNEL_NATIVE_H_

#include <string>
#include <vector>

#include "kernels/kernel/kernel.h"

namespace topdnn {

inline constexpr const char* kNative = "native";

// The algorithm of the variant native-channels: loops over vectors of channels, in the layouts of
// oneDNN.
inline constexpr const char* kChannelLoops = "channel-loops";

// The backends that a plan on `backend` asks, in order of preference. oneDNN and OpenBLAS lack
// operations of a network; topdnn's code computes them, as a framework's own code does.
std::vector<std::string> WithNative(const std::string& backend);
// The first of them that has a kernel for the request; `backend` if none has.
std::string ServingBackend(const std::string& backend, const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_NATIVE_H_
