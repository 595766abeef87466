#include "networks/plan/width_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "kernels/kernel/registry.h"
#include "kernels/kernel/same_operands.h"

namespace topdnn {

namespace {

// Plain loops that oneDNN has for every case, 100 times slower than its other implementations.
bool IsPlainLoops(const Kernel& kernel) { return kernel.implementation().starts_with("ref"); }

// The kernel for the request, if it fits the stage's buffers and is not much slower.
KernelOrRefusal FittingKernel(const Stage& stage, const KernelRequest& request) {
  KernelOrRefusal offer = MakeKernel(stage.backend, request);
  const auto* made = std::get_if<std::unique_ptr<Kernel>>(&offer);
  if (made == nullptr) return offer;
  const Kernel& kernel = **made;
  if (!SameOperands(*stage.kernel, kernel)) {
    return Refusal{fmt::format("{} uses other layouts", kernel.implementation())};
  }
  if (IsPlainLoops(kernel) && !IsPlainLoops(*stage.kernel)) {
    return Refusal{fmt::format("the backend has only {}", kernel.implementation())};
  }
  return offer;
}

// Tries the stage's own request first, because an implementation may accept only a layout that it
// chooses itself. Then tries it with all layouts settled, because for another width the backend may
// choose other layouts.
KernelOrRefusal KernelFor(const Stage& stage, int threads) {
  KernelRequest request = stage.request;
  request.threads = threads;
  KernelOrRefusal same = FittingKernel(stage, request);
  if (std::holds_alternative<std::unique_ptr<Kernel>>(same)) return same;
  for (const KernelOperand& operand : stage.kernel->operands()) {
    request.layouts[operand.arg] = operand.desc.layout;
  }
  return FittingKernel(stage, request);
}

}  // namespace

WidthKernels::WidthKernels(const Plan& plan, int threads) : threads_(threads) {
  std::size_t scratch = 0;
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Stage& stage = plan.stages()[i];
    runs_.push_back({stage.kernel.get(), plan.threads()});
    if (threads == plan.threads()) continue;
    auto offer = KernelFor(stage, threads);
    if (const auto* refusal = std::get_if<Refusal>(&offer)) {
      kept_.push_back({i, refusal->reason});
      continue;
    }
    kernels_.push_back(std::move(std::get<std::unique_ptr<Kernel>>(offer)));
    runs_.back() = {kernels_.back().get(), threads};
    scratch = std::max(scratch, kernels_.back()->run_scratch_bytes());
  }
  scratch_ = AlignedMemory(scratch);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const Stage& stage = plan.stages()[i];
    if (runs_[i].kernel == stage.kernel.get()) continue;
    std::map<Arg, void*> memory;
    for (const auto& [arg, buffer] : stage.buffers) memory[arg] = plan.Data(buffer);
    memory[Arg::kScratch] = scratch_.data();
    runs_[i].kernel->Prepare(memory);
  }
}

}  // namespace topdnn
