#include "kernels/eigen/kernel.h"

#include <fmt/format.h>

#include "kernels/thread_width.h"

namespace topdnn::eigen {

EigenKernel::EigenKernel(const KernelRequest& request, const Functions& functions,
                         std::string_view algorithm)
    : Kernel(request), functions_(functions), threads_(request.threads) {
  implementation_ =
      fmt::format("{}:eigen_{}_{}", algorithm, functions.version, functions.contraction);
  isa_ = functions.isa;
}

void EigenKernel::Prepare(const std::map<Arg, void*>& memory) {
  for (const KernelOperand& operand : operands_) {
    const auto role = static_cast<std::size_t>(operand.arg);
    if (role < data_.size()) data_[role] = memory.at(operand.arg);
  }
  if (pool_ == nullptr) pool_ = SharePool(functions_, threads_);
  scratch_ = AlignedMemory(scratch_bytes_);
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

}  // namespace topdnn::eigen
