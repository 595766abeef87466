// Registry of kernel makers by (operation, backend). A backend's file registers its maker:
//
//   KernelOrRefusal MakeConv(const KernelRequest& request, const ConvOp& op) { ... }
//   const KernelRegistration kConvOnOneDnn("conv", "onednn", MakeConv);
//
// To add a backend of an operation, add one file.

#ifndef TOPDNN_KERNELS_KERNEL_REGISTRY_H_
#define TOPDNN_KERNELS_KERNEL_REGISTRY_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel/kernel.h"

namespace topdnn {

class KernelRegistration {
 public:
  KernelRegistration(std::string_view kind, std::string_view backend, KernelMaker maker);
  // A maker that takes the operation by its type.
  template <typename OpType>
  KernelRegistration(std::string_view kind, std::string_view backend,
                     KernelOrRefusal (*make)(const KernelRequest&, const OpType&))
      : KernelRegistration(kind, backend, [make](const KernelRequest& request) {
          return make(request, request.OpAs<OpType>());
        }) {}
};

// A kernel for the request, or a refusal: from the backend, or because nothing is registered.
KernelOrRefusal MakeKernel(std::string_view backend, const KernelRequest& request);

// What a kernel is: the operation and its problem, the pass, types, threads, implementation and
// layouts.
std::string KernelKey(const KernelRequest& request, const Kernel& kernel);

// What MakeKernel calls in this program.
struct KernelGate {
  // Why a kernel must not run in this process; empty if it may.
  std::function<std::string(std::string_view backend, const KernelRequest& request, Kernel& kernel)>
      why_not;
  // Gets each refusal of a kernel that does not work (Refusal::failed).
  std::function<void(const KernelRequest& request, const std::string& reason)> report;
};
// Call it before the process starts threads.
void SetKernelGate(KernelGate gate);

// All backends with at least one operation, sorted.
std::vector<std::string> Backends();
// All registered pairs (operation, backend), sorted.
std::vector<std::pair<std::string, std::string>> RegisteredKernels();

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_REGISTRY_H_
