#include "kernels/kernel/registry.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "kernels/op/registrations.h"

namespace topdnn {

namespace {

// By operation and backend.
constinit Registrations<std::pair<std::string, std::string>, KernelMaker> makers("kernel");

KernelGate& Gate() {
  static KernelGate gate;
  return gate;
}

// Why an operand is too large for a library: some generated code addresses elements with 32-bit
// offsets. The reference uses 64 bits throughout.
std::string TooLarge(std::string_view backend, const Op& op, const Execution& execution) {
  if (backend == "reference") return {};
  for (const Operand& operand : op.Operands(execution)) {
    if (operand.shape.elements() <= std::numeric_limits<std::int32_t>::max()) continue;
    return fmt::format("{} of {} has {} elements; {} is used only up to 2^31 - 1",
                       NameOf(operand.arg), operand.shape.ToString(), operand.shape.elements(),
                       backend);
  }
  return {};
}

}  // namespace

KernelRegistration::KernelRegistration(std::string_view kind, std::string_view backend,
                                       KernelMaker maker) {
  makers.Add({std::string(kind), std::string(backend)}, std::move(maker));
}

std::string KernelKey(const KernelRequest& request, const Kernel& kernel) {
  std::string key =
      fmt::format("{}/{}/{}{}/{}/t{}/{}", request.op->kind(), request.op->Problem(),
                  NameOf(request.execution.pass), request.execution.training ? "" : "-inference",
                  NameOf(request.execution.type), request.threads, kernel.implementation());
  for (const KernelOperand& operand : kernel.operands()) {
    key += fmt::format("/{}", operand.desc.layout.tag());
  }
  return key;
}

KernelOrRefusal MakeKernel(std::string_view backend, const KernelRequest& request) {
  const KernelMaker* make =
      makers.Find(std::pair{std::string(request.op->kind()), std::string(backend)});
  if (make == nullptr) {
    return Refusal{fmt::format("backend {} has no {}", backend, request.op->kind())};
  }
  if (!request.op->Has(request.execution)) {
    return Refusal{fmt::format("{} has no pass {} in {}", request.op->kind(),
                               NameOf(request.execution.pass), NameOf(request.execution.type))};
  }
  if (std::string why = TooLarge(backend, *request.op, request.execution); !why.empty()) {
    return Refusal{std::move(why)};
  }
  KernelOrRefusal made = (*make)(request);
  const auto* const kernel = std::get_if<std::unique_ptr<Kernel>>(&made);
  if (kernel != nullptr && Gate().why_not) {
    std::string why = Gate().why_not(backend, request, **kernel);
    if (!why.empty()) made = Refusal{std::move(why), /*failed=*/true};
  }
  const auto* const refusal = std::get_if<Refusal>(&made);
  if (refusal != nullptr && refusal->failed && Gate().report) {
    Gate().report(request, refusal->reason);
  }
  return made;
}

void SetKernelGate(KernelGate gate) { Gate() = std::move(gate); }

std::vector<std::string> Backends() {
  std::set<std::string> names;
  for (const auto& [kind, backend] : makers.Keys()) names.insert(backend);
  return {names.begin(), names.end()};
}

std::vector<std::pair<std::string, std::string>> RegisteredKernels() { return makers.Keys(); }

}  // namespace topdnn
