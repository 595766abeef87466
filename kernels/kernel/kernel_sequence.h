// Two kernels as one, for a function that a library has only as two primitives.

#ifndef TOPDNN_KERNELS_KERNEL_KERNEL_SEQUENCE_H_
#define TOPDNN_KERNELS_KERNEL_KERNEL_SEQUENCE_H_

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "kernels/kernel/kernel.h"

namespace topdnn {

// Two kernels, run one after the other on the same result.
class KernelSequence : public Kernel {
 public:
  // `second` reads Arg::kSrc and writes Arg::kDst; both are bound to the operand `result` of
  // `first`.
  KernelSequence(std::unique_ptr<Kernel> first, std::unique_ptr<Kernel> second, Arg result)
      : first_(std::move(first)), second_(std::move(second)), result_(result) {
    operands_ = first_->operands();
    implementation_ = first_->implementation() + "+" + second_->implementation();
    isa_ = first_->isa();
    scratch_bytes_ = first_->scratch_bytes() + second_->scratch_bytes();
    run_scratch_bytes_ = std::max(first_->run_scratch_bytes(), second_->run_scratch_bytes());
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    first_->Prepare(memory);
    std::map<Arg, void*> result = memory;
    result[Arg::kSrc] = result[Arg::kDst] = memory.at(result_);
    second_->Prepare(result);
  }

  void Run() noexcept override {
    first_->Run();
    second_->Run();
  }

 private:
  const std::unique_ptr<Kernel> first_, second_;
  const Arg result_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_KERNEL_SEQUENCE_H_
