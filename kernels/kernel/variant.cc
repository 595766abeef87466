#include "kernels/kernel/variant.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/kernel/registry.h"
#include "kernels/op/registrations.h"

namespace topdnn {

namespace {

// By name. Without the variants that are only a backend.
constinit Registrations<std::string, Variant> registered("variant");

bool IsActivation(const Operand& operand) {
  switch (operand.arg.role) {
    case Arg::kWeights:
    case Arg::kDiffWeights:
    case Arg::kWorkspace:
      return false;
    default:
      return operand.shape.rank() == 4;
  }
}

}  // namespace

VariantRegistration::VariantRegistration(const Variant& variant) {
  registered.Add(variant.name, variant);
}

std::vector<Variant> Variants() {
  std::vector<Variant> variants = registered.Values();
  for (const std::string& backend : Backends()) {
    if (registered.Find(backend) == nullptr) {
      variants.push_back({.name = backend, .backend = backend});
    }
  }
  std::sort(variants.begin(), variants.end(),
            [](const Variant& a, const Variant& b) { return a.name < b.name; });
  return variants;
}

std::optional<Variant> FindVariant(std::string_view name) {
  for (Variant& variant : Variants()) {
    if (variant.name == name) return std::move(variant);
  }
  return std::nullopt;
}

std::optional<KernelRequest> RequestOf(const Variant& variant, std::shared_ptr<const Op> op,
                                       const Execution& execution, int threads) {
  if (!variant.kinds.empty() &&
      std::find(variant.kinds.begin(), variant.kinds.end(), op->kind()) == variant.kinds.end()) {
    return std::nullopt;
  }
  if (std::find(variant.types.begin(), variant.types.end(), execution.type) ==
      variant.types.end()) {
    return std::nullopt;
  }
  KernelRequest request;
  request.execution = execution;
  request.threads = threads;
  request.algorithm = variant.algorithm;
  const bool chooses = op->Traits().layout_policy == LayoutPolicy::kChooses;
  bool settles = false;
  for (const Operand& operand : op->Operands(execution)) {
    if (variant.activations == nullptr || !IsActivation(operand)) continue;
    const Layout layout = variant.activations(operand.shape, chooses);
    settles |= !layout.is_any();
    request.layouts[operand.arg] = layout;
  }
  const bool same_as_backend =
      variant.name != variant.backend && variant.algorithm.empty() && !settles;
  if (same_as_backend) return std::nullopt;
  request.op = std::move(op);
  return request;
}

}  // namespace topdnn
