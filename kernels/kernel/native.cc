#include "kernels/kernel/native.h"

#include <variant>

#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"

namespace topdnn {

namespace {

const VariantRegistration kNativeVariant({.name = kNative,
                                          .backend = kNative,
                                          .types = {DataType::kF32, DataType::kBF16, DataType::kU8,
                                                    DataType::kS8}});
// A pooling and its gradient may be one on oneDNN and one here: their workspaces are the same.
const VariantRegistration kChannels({.name = "native-channels",
                                     .backend = kNative,
                                     .algorithm = kChannelLoops,
                                     .workspaces = "onednn",
                                     .kinds = {"batchnorm", "pool"}});

}  // namespace

std::vector<std::string> WithNative(const std::string& backend) {
  if (backend == "onednn" || backend == "openblas") return {backend, kNative};
  return {backend};
}

std::string ServingBackend(const std::string& backend, const KernelRequest& request) {
  for (const std::string& serving : WithNative(backend)) {
    if (!std::holds_alternative<Refusal>(MakeKernel(serving, request))) return serving;
  }
  return backend;
}

}  // namespace topdnn
