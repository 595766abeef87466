#include "kernels/eigen/kernel.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <variant>

#include "kernels/kernel/registry.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/kernel/variant.h"
#include "kernels/tensor/permutation.h"

namespace topdnn::eigen {

EigenKernel::EigenKernel(const KernelRequest& request, const Functions& functions,
                         std::string_view algorithm)
    : BoundKernel(
          request,
          fmt::format("{}:eigen_{}_{}", algorithm, functions.version, functions.contraction),
          functions.isa),
      functions_(functions),
      threads_(request.threads) {}

void EigenKernel::Prepare(const std::map<Arg, void*>& memory) {
  BoundKernel::Prepare(memory);
  if (pool_ == nullptr) pool_ = SharePool(functions_, threads_);
}

void EigenKernel::Run() noexcept {
  const ThreadWidth width(1);
  Compute();
}

std::optional<Refusal> Settle(KernelRequest& request, Arg arg,
                              std::initializer_list<std::string_view> acceptable) {
  const auto operand = request.op->Find(request.execution, arg);
  if (!operand) return std::nullopt;
  const Layout asked = request.LayoutOf(arg);
  for (const std::string_view tag : acceptable) {
    const Layout layout = *Layout::Parse(tag);
    if (asked.is_any() || (!asked.is_opaque() && layout.SameFor(operand->shape, asked))) {
      request.layouts[arg] = layout;
      return std::nullopt;
    }
  }
  return Refusal{fmt::format("eigen needs {} in layout {}, not {}", NameOf(arg),
                             *acceptable.begin(), asked.tag())};
}

std::optional<Refusal> SettleAll(KernelRequest& request, int rank, Layout (*layout)(int rank)) {
  for (const Operand& operand : request.op->Operands(request.execution)) {
    if (operand.shape.rank() != rank) continue;
    if (auto refusal = Settle(request, operand.arg, {layout(rank).tag()})) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> SettleUnblocked(KernelRequest& request, Arg arg) {
  const int rank = request.op->Find(request.execution, arg)->shape.rank();
  Layout& layout = request.layouts[arg];
  if (layout.is_any()) layout = Layout::Plain(rank);
  if (IsUnblocked(layout)) return std::nullopt;
  return Refusal{fmt::format("eigen needs {} of {} in an unblocked layout, not {}", NameOf(arg),
                             request.op->kind(), layout.tag())};
}

std::optional<Refusal> SettleOneLayout(KernelRequest& request) {
  const std::optional<Layout> common = CommonLayout(request);
  if (!common) {
    return Refusal{fmt::format("eigen needs one layout for all tensors of {}", request.op->kind())};
  }
  for (const Operand& operand : request.op->Operands(request.execution)) {
    request.layouts[operand.arg] = common->is_any() ? Layout::Plain(operand.shape.rank()) : *common;
  }
  return std::nullopt;
}

std::optional<Refusal> SettleRows(KernelRequest& request) {
  if (!request.LayoutOf(Arg::kWorkspace).is_any()) request.algorithm = kRows;
  if (request.algorithm != kRows) {
    request.execution.recomputes = request.op->MayRecompute(request.execution);
  } else if (request.execution.recomputes) {
    return Refusal{
        fmt::format("eigen-rows reads the workspace of its forward {}, and this one saved none",
                    request.op->kind())};
  }
  return std::nullopt;
}

namespace {

const VariantRegistration kRowsVariant({.name = "eigen-rows",
                                        .backend = "eigen",
                                        .algorithm = std::string(kRows),
                                        .kinds = {"conv", "pool", "lrn"}});

KernelOrRefusal Offer(Variant contraction, const Maker& make,
                      const std::set<std::string>& algorithms, KernelRequest request) {
  if (request.execution.type != DataType::kF32) {
    return Refusal{fmt::format("eigen computes in f32, not {}", NameOf(request.execution.type))};
  }
  if (!request.algorithm.empty() && !algorithms.contains(request.algorithm)) {
    return Refusal{fmt::format("eigen has no algorithm '{}'", request.algorithm)};
  }
  auto found = FindFunctions(contraction, request.isa);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  return make(*std::get<const Functions*>(found), request);
}

}  // namespace

Registration::Registration(std::string_view kind, const Maker& make,
                           std::initializer_list<std::string_view> algorithms) {
  const std::set<std::string> names(algorithms.begin(), algorithms.end());
  for (const auto& [variant, backend] :
       {std::pair{Variant::kGebp, "eigen"}, std::pair{Variant::kSgemm, "eigen-sgemm"}}) {
    const KernelRegistration registration(kind, backend,
                                          [=, variant = variant](const KernelRequest& request) {
                                            return Offer(variant, make, names, request);
                                          });
  }
}

}  // namespace topdnn::eigen
