// (operation, backend) -> maker. A backend's file announces itself:
//
//   const KernelRegistration kConvOnOneDnn("conv", "onednn", MakeConv);
//
// so that adding a backend of an operation is adding one file.

#ifndef TOPDNN_KERNELS_REGISTRY_H_
#define TOPDNN_KERNELS_REGISTRY_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace topdnn {

class KernelRegistration {
 public:
  KernelRegistration(std::string_view kind, std::string_view backend, KernelMaker maker);
};

// A kernel for the request, or the refusal: the backend's own, or that nothing is registered.
KernelOrRefusal MakeKernel(std::string_view backend, const KernelRequest& request);

// Every backend that has at least one operation, sorted.
std::vector<std::string> Backends();
// Every registered (operation, backend), sorted.
std::vector<std::pair<std::string, std::string>> RegisteredKernels();

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_REGISTRY_H_
