#include "kernels/variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/registry.h"

namespace topdnn {

namespace {

// Registration objects fill it before main, in any order. Therefore it is a function-local object.
std::map<std::string, Variant, std::less<>>& TheVariants() {
  static std::map<std::string, Variant, std::less<>> variants;
  return variants;
}

bool IsActivation(const Operand& operand) {
  switch (operand.arg) {
    case Arg::kWeights:
    case Arg::kDiffWeights:
    case Arg::kWorkspace:
      return false;
    default:
      return operand.shape.rank() == 4;
  }
}

}  // namespace

VariantRegistration::VariantRegistration(Variant variant) {
  const std::string name = variant.name;
  if (!TheVariants().emplace(name, std::move(variant)).second) {
    throw std::logic_error(fmt::format("two variants are named {}: rename one", name));
  }
}

std::vector<Variant> Variants() {
  std::map<std::string, Variant, std::less<>> all = TheVariants();
  for (const std::string& backend : Backends()) {
    all.try_emplace(backend, Variant{.name = backend, .backend = backend});
  }
  std::vector<Variant> variants;
  for (auto& [name, variant] : all) variants.push_back(std::move(variant));
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
  if (!variant.kind.empty() && variant.kind != op->kind()) return std::nullopt;
  if (std::find(variant.types.begin(), variant.types.end(), execution.type) ==
      variant.types.end()) {
    return std::nullopt;
  }
  KernelRequest request;
  request.execution = execution;
  request.threads = threads;
  request.algorithm = variant.algorithm;
  const bool chooses = op->layout_policy() == LayoutPolicy::kChooses;
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
