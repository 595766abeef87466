#include "kernels/kernel/failed_kernel.h"

#include <utility>
#include <variant>

#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/same_operands.h"

namespace topdnn {

FailedKernel::FailedKernel(const KernelRequest& request, std::string implementation,
                           std::string reason)
    : Kernel(request), reason_(std::move(reason)) {
  implementation_ = std::move(implementation);
  KernelRequest asked = request;
  asked.algorithm.clear();
  for (const KernelOperand& operand : operands_) asked.layouts[operand.arg] = operand.desc.layout;
  for (const char* backend : {"onednn", "openblas", kNative, "reference"}) {
    KernelOrRefusal answer = MakeKernel(backend, asked);
    auto* const made = std::get_if<std::unique_ptr<Kernel>>(&answer);
    if (made == nullptr || !SameOperands(*this, **made)) continue;
    stand_in_ = std::move(*made);
    run_scratch_bytes_ = stand_in_->run_scratch_bytes();
    return;
  }
}

void FailedKernel::Prepare(const std::map<Arg, void*>& memory) {
  if (stand_in_ != nullptr) stand_in_->Prepare(memory);
}

void FailedKernel::Run() noexcept {
  if (stand_in_ != nullptr) stand_in_->Run();
}

std::string FailureOf(const Kernel& kernel) {
  const auto* failed = dynamic_cast<const FailedKernel*>(&kernel);
  return failed == nullptr ? std::string() : failed->reason();
}

}  // namespace topdnn
