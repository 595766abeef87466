#include "kernels/kernel/bound_kernel.h"

#include <fmt/format.h>

#include <utility>

namespace topdnn {

BoundKernel::BoundKernel(const KernelRequest& request, std::string implementation, std::string isa)
    : Kernel(request), execution_(request.execution) {
  implementation_ = std::move(implementation);
  isa_ = std::move(isa);
}

void BoundKernel::Prepare(const std::map<Arg, void*>& memory) {
  indexed_.clear();
  for (const KernelOperand& operand : operands_) {
    void* data = memory.at(operand.arg);
    if (operand.arg.is_indexed()) {
      indexed_.push_back(data);
    } else {
      data_[static_cast<std::size_t>(operand.arg.role)] = data;
    }
  }
  if (const auto shared = memory.find(Arg::kScratch);
      run_scratch_bytes_ > 0 && shared != memory.end()) {
    scratch_data_ = static_cast<float*>(shared->second);
    return;
  }
  if (scratch_.bytes() == 0) {
    scratch_ = AlignedMemory(scratch_floats_ * sizeof(float) + run_scratch_bytes_);
  }
  scratch_data_ = reinterpret_cast<float*>(scratch_.data());
}

std::string RowMajorRefusal(const KernelRequest& request, std::string_view whose) {
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (!layout.is_any() && !layout.IsPlainFor(operand.shape)) {
      return fmt::format("{} accepts only row-major tensors, but {} is in layout {}", whose,
                         NameOf(operand.arg), layout.tag());
    }
  }
  return {};
}

}  // namespace topdnn
