#include "kernels/reorder/in_f32.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/kernel/registry.h"
#include "kernels/reorder/reorder.h"

namespace topdnn {

namespace {

// Conversions of an operand of another type in f32: to the kernel, from it, or both.
struct Converted {
  Arg arg;
  TensorDesc desc;                        // in f32
  std::size_t at;                         // in the scratch memory, in bytes
  std::unique_ptr<Kernel> before, after;  // nullptr: not needed
};

constexpr std::size_t kAlignment = 64;

std::size_t Aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class InF32 : public Kernel {
 public:
  // `converted_bytes`: of the converted operands. The scratch memory of the kernel and of the
  // conversions comes after them.
  InF32(const KernelRequest& request, std::unique_ptr<Kernel> kernel,
        std::vector<Converted> converted, std::size_t converted_bytes)
      : Kernel(request),
        kernel_(std::move(kernel)),
        converted_(std::move(converted)),
        converted_bytes_(converted_bytes) {
    implementation_ = "f32 " + kernel_->implementation();
    isa_ = kernel_->isa();
    converts_to_ = DataType::kF32;
    for (KernelOperand& operand : operands_) {
      operand.desc.layout = kernel_->Find(operand.arg)->desc.layout;
    }
    scratch_bytes_ = kernel_->scratch_bytes();
    std::size_t shared = kernel_->run_scratch_bytes();
    for (const Converted& one : converted_) {
      if (one.before) shared = std::max(shared, one.before->run_scratch_bytes());
      if (one.after) shared = std::max(shared, one.after->run_scratch_bytes());
    }
    run_scratch_bytes_ = converted_bytes_ + shared;
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    const auto shared = memory.find(Arg::kScratch);
    if (shared == memory.end() && own_.bytes() == 0) own_ = AlignedMemory(run_scratch_bytes_);
    auto* scratch = shared == memory.end() ? own_.data() : static_cast<std::byte*>(shared->second);
    void* rest = scratch + converted_bytes_;
    std::map<Arg, void*> inner = memory;
    inner[Arg::kScratch] = rest;
    for (const Converted& one : converted_) {
      void* in_f32 = scratch + one.at;
      inner[one.arg] = in_f32;
      void* given = memory.at(one.arg);
      if (one.before) {
        one.before->Prepare({{Arg::kSrc, given}, {Arg::kDst, in_f32}, {Arg::kScratch, rest}});
      }
      if (one.after) {
        one.after->Prepare({{Arg::kSrc, in_f32}, {Arg::kDst, given}, {Arg::kScratch, rest}});
      }
    }
    kernel_->Prepare(inner);
  }

  void Run() noexcept override {
    for (const Converted& one : converted_) {
      if (one.before) one.before->Run();
    }
    kernel_->Run();
    for (const Converted& one : converted_) {
      if (one.after) one.after->Run();
    }
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const std::vector<Converted> converted_;
  const std::size_t converted_bytes_;
  AlignedMemory own_;  // unless the caller gives scratch memory
};

KernelOrRefusal MakeConversion(const TensorDesc& from, DataType to, int threads) {
  KernelRequest request;
  request.op = std::make_shared<ReorderOp>(from.shape, from.type, to);
  request.threads = threads;
  request.layouts = {{Arg::kSrc, from.layout}, {Arg::kDst, from.layout}};
  return MakeKernel("onednn", request);
}

}  // namespace

KernelOrRefusal MakeInF32(const KernelRequest& request, std::string_view backend,
                          const std::string& algorithm) {
  if (request.execution.type != DataType::kBF16) {
    return Refusal{"only bf16 is converted to f32"};
  }
  KernelRequest in_f32 = request;
  in_f32.execution.type = DataType::kF32;
  in_f32.algorithm = algorithm;
  KernelOrRefusal made = MakeKernel(backend, in_f32);
  if (auto* refusal = std::get_if<Refusal>(&made)) return std::move(*refusal);
  auto kernel = std::get<std::unique_ptr<Kernel>>(std::move(made));
  std::vector<Converted> converted;
  std::size_t bytes = 0;
  for (const KernelOperand& operand : kernel->operands()) {
    const DataType own = request.op->Find(request.execution, operand.arg)->type;
    if (own == operand.desc.type) continue;
    if (operand.desc.layout.is_opaque()) {
      return Refusal{"an opaque layout of f32 cannot hold bf16"};
    }
    Converted one = {operand.arg, operand.desc, bytes, nullptr, nullptr};
    bytes += Aligned(operand.desc.bytes());
    TensorDesc as_given = operand.desc;
    as_given.type = own;
    const auto add = [&](const TensorDesc& from, DataType to, std::unique_ptr<Kernel>& conversion) {
      KernelOrRefusal answer = MakeConversion(from, to, request.threads);
      if (auto* offered = std::get_if<std::unique_ptr<Kernel>>(&answer)) {
        conversion = std::move(*offered);
      }
      return conversion != nullptr;
    };
    const bool possible =
        (operand.direction == Direction::kOut || add(as_given, DataType::kF32, one.before)) &&
        (operand.direction == Direction::kIn || add(operand.desc, own, one.after));
    if (!possible) return Refusal{"oneDNN cannot convert " + operand.desc.layout.tag() + " to f32"};
    converted.push_back(std::move(one));
  }
  return std::make_unique<InF32>(request, std::move(kernel), std::move(converted), bytes);
}

}  // namespace topdnn
