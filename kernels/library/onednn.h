// The bridge to oneDNN: conversion of descriptors and layouts in both directions, and one Kernel
// class that executes any primitive. Each primitive is made in one place, the operation's
// onednn.cc; what depends on oneDNN's major version is in onednn_api.h.

#ifndef TOPDNN_KERNELS_LIBRARY_ONEDNN_H_
#define TOPDNN_KERNELS_LIBRARY_ONEDNN_H_

#include <functional>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel/kernel.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/library/onednn_api.h"

namespace topdnn::onednn {

dnnl::memory::dims Dims(const Shape& shape);

// oneDNN's descriptor of a tensor; the layout `any` stays `any`. Throws dnnl::error when oneDNN has
// no such layout or element type.
dnnl::memory::desc ToMemoryDesc(const TensorDesc& desc);

// The descriptor of the request's operand `arg`, in the layout that the request settles for it. A
// zero descriptor when the operation has no such operand.
dnnl::memory::desc DescOf(const KernelRequest& request, Arg arg);
// The same, with the layout `default_layout` when the request settles none for it. The operation
// must have the operand.
dnnl::memory::desc DescOf(const KernelRequest& request, Arg arg, const Layout& default_layout);

// The letter tag of a descriptor, or an opaque layout when no tag can address it (Winograd weights,
// int8 weights with compensation, workspaces). Equal descriptors give equal layouts.
Layout ToLayout(const dnnl::memory::desc& desc);
DataType ToDataType(dnnl::memory::data_type type);
// Throws dnnl::error for a type that oneDNN does not have.
dnnl::memory::data_type ToDnnlType(DataType type);

// ISA of oneDNN's implementation name ("jit:avx512_core" -> "avx512"), in the spelling of
// Kernel::isa(). For "gemm:jit" it is the widest ISA that oneDNN uses here. Empty for plain C++.
std::string IsaOf(std::string_view implementation);

// (N, C, H, W) in blocks of channels, as many per block as a vector of this CPU holds. oneDNN's own
// kernels prefer this layout.
Layout BlockedActivations();

// Whether oneDNN's sums of 8-bit products are exact here. On x86 without VNNI it adds two products
// in 16 bits, which may saturate, and halves the weights of a layer with an s8 source.
bool SumsAreExact();

// Attributes that place the scratchpad in the kernel's own memory, so that executing does not
// allocate.
dnnl::primitive_attr Attributes();

// The kind of a forward primitive, and of the hint of a backward one.
dnnl::prop_kind ForwardKind(const KernelRequest& request);

// An operand of a primitive: its role in topdnn and in oneDNN (DNNL_ARG_SRC, ...). When the rank of
// `desc` differs from the operation's operand (a bias as (1, C, 1, 1), a matrix as an image),
// `desc` must be row-major, and the operand is row-major too.
struct PrimitiveOperand {
  Arg arg;
  Direction direction;
  int dnnl_arg;
  dnnl::memory::desc desc;
  // The layout in terms of the operation's own shape, when the primitive sees the same bytes as a
  // tensor of another shape (a matrix that is stored transposed).
  std::optional<Layout> layout = std::nullopt;
};

// Executes a primitive. A failure is recorded (run_failure.h).
void Execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             std::span<const dnnl_exec_arg_t> arguments);

// The workspace that a forward primitive writes for its backward one. Its format is oneDNN's own;
// it is empty (a zero descriptor) when the implementation keeps nothing.
PrimitiveOperand WrittenWorkspace(const dnnl::memory::desc& desc);

// Adds the workspace that a backward primitive reads. A primitive that reads none accepts any
// workspace. Returns a refusal when the request settles a layout that the primitive cannot read.
std::optional<Refusal> ReadWorkspace(const KernelRequest& request, const dnnl::memory::desc& desc,
                                     std::vector<PrimitiveOperand>& operands);

// The argument of a primitive in the role of the same name (kSrc: DNNL_ARG_SRC; kSum:
// DNNL_ARG_SRC_1). Throws std::out_of_range for a role that oneDNN does not have.
int ArgumentOf(Arg arg);

// The operands of the operation in the request's pass, each in the role of the same name. Throws
// std::out_of_range for an operand that has no such role.
std::vector<PrimitiveOperand> OperandsByName(const KernelRequest& request,
                                             const dnnl::primitive_desc_base& pd);

// A kernel that executes one primitive.
class PrimitiveKernel : public Kernel {
 public:
  // `make` creates the primitive, which generates its code. The first Prepare calls it, on
  // `threads` OpenMP threads.
  PrimitiveKernel(const KernelRequest& request, std::string implementation,
                  const dnnl::memory::desc& scratchpad, std::vector<PrimitiveOperand> operands,
                  std::function<dnnl::primitive()> make);

  void Prepare(const std::map<Arg, void*>& memory) override;
  void Run() noexcept override;

 private:
  int threads_;
  dnnl::memory::desc scratchpad_desc_;
  std::vector<PrimitiveOperand> primitive_operands_;
  std::function<dnnl::primitive()> make_;
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  AlignedMemory scratchpad_;
  std::vector<dnnl::memory> memories_;
  // In the form of oneDNN's C interface: the C++ one would build a map at every call.
  std::vector<dnnl_exec_arg_t> arguments_;
};

// Makes a kernel from a primitive descriptor. `Primitive` is its class, e.g.
// dnnl::convolution_forward.
template <typename Primitive, typename PrimitiveDesc>
std::unique_ptr<Kernel> MakePrimitiveKernel(const KernelRequest& request, const PrimitiveDesc& pd,
                                            std::vector<PrimitiveOperand> operands) {
  return std::make_unique<PrimitiveKernel>(request, pd.impl_info_str(), pd.scratchpad_desc(),
                                           std::move(operands),
                                           [pd]() -> dnnl::primitive { return Primitive(pd); });
}

// The same for a primitive that has the operands of the operation (OperandsByName).
template <typename Primitive, typename PrimitiveDesc>
std::unique_ptr<Kernel> MakePrimitiveKernel(const KernelRequest& request, const PrimitiveDesc& pd) {
  return MakePrimitiveKernel<Primitive>(request, pd, OperandsByName(request, pd));
}

// "oneDNN 2.6.3 has no such conv forward in bf16 (could not create a primitive descriptor ...)".
Refusal RefusalOf(const KernelRequest& request, const dnnl::error& error);

// Runs the body of a maker at the request's thread width and turns oneDNN's error into a Refusal.
template <typename Body>
KernelOrRefusal Offer(const KernelRequest& request, Body body) {
  if (std::string why = RecomputingRefusal(request, "oneDNN's passes"); !why.empty()) {
    return Refusal{std::move(why)};
  }
  const ThreadWidth width(request.threads);
  try {
    return body();
  } catch (const dnnl::error& error) {
    return RefusalOf(request, error);
  }
}

// Offers the kernel of the request's pass. A maker takes the request and the operation.
template <typename OpType, typename Result>
KernelOrRefusal OfferPass(const KernelRequest& request, const OpType& op,
                          Result (*forward)(const KernelRequest&, const OpType&),
                          Result (*backward_data)(const KernelRequest&, const OpType&),
                          Result (*backward_weights)(const KernelRequest&, const OpType&)) {
  return Offer(request, [&] {
    switch (request.execution.pass) {
      case Pass::kBackwardData:
        return backward_data(request, op);
      case Pass::kBackwardWeights:
        return backward_weights(request, op);
      case Pass::kForward:
        break;
    }
    return forward(request, op);
  });
}

}  // namespace topdnn::onednn

#endif  // TOPDNN_KERNELS_LIBRARY_ONEDNN_H_
