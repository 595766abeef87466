// Functions on oneDNN: the eltwise and the binary primitive.
//
// Addition: the binary primitive, with further sources and the ReLU as post-ops. So each
// tensor is read or written once, and the result is rounded once. The sum primitive is not used: it
// takes no post-op, and it has only plain code for partly filled channel blocks. In f32 on Zen 4 it
// took 1.3 times as long with two sources and 2 times as long with four; in bf16 it took 0.7 to 1.1
// times as long.

#include "kernels/library/onednn.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "kernels/activation/relu.h"
#include "kernels/eltwise/add.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/kernel/kernel_sequence.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

dnnl::primitive_attr AttributesOf(const AddOp& op, const dnnl::memory::desc& desc) {
  dnnl::primitive_attr attributes = onednn::Attributes();
  dnnl::post_ops post_ops;
  for (int i = 2; i < op.sources(); ++i) {
    post_ops.append_binary(dnnl::algorithm::binary_add, desc);
  }
  if (op.relu()) onednn::AppendRelu(post_ops, 0.0F);
  attributes.set_post_ops(post_ops);
  return attributes;
}

int DnnlArgOf(int source) {
  if (source == 0) return DNNL_ARG_SRC_0;
  if (source == 1) return DNNL_ARG_SRC_1;
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(source - 2) | DNNL_ARG_SRC_1;
}

// oneDNN 2.6.3 applies the ReLU to a source instead of the sum in the last block of channels when
// it is partly filled: here the ReLU is a primitive of its own.
KernelOrRefusal MakeAddThenRelu(const KernelRequest& request, const AddOp& op,
                                const Layout& layout) {
  KernelRequest sum = request;
  sum.op = std::make_shared<AddOp>(op.shape(), op.sources());
  KernelOrRefusal first = MakeKernel("onednn", sum);
  if (std::holds_alternative<Refusal>(first)) return first;
  KernelOrRefusal second = MakeKernel("onednn", {std::make_shared<ReluOp>(op.shape(), 0.0F),
                                                 request.execution,
                                                 request.threads,
                                                 {{Arg::kSrc, layout}},
                                                 ""});
  if (std::holds_alternative<Refusal>(second)) return second;
  return std::make_unique<KernelSequence>(std::move(std::get<std::unique_ptr<Kernel>>(first)),
                                          std::move(std::get<std::unique_ptr<Kernel>>(second)),
                                          Arg::kDst);
}

KernelOrRefusal MakeOneDnnAdd(const KernelRequest& request, const AddOp& op) {
  const std::optional<Layout> layout = CommonLayout(request, op.shape());
  if (!layout) return Refusal{"oneDNN's addition needs one layout for all tensors"};
  const bool has_padding =
      !layout->is_opaque() && layout->PaddedElements(op.shape()) != op.shape().elements();
  // Seen with 2.6.3 in f32: blocks of 16 with AVX2, whose vectors hold 8, and of 8 with SSE4.1.
  const bool fills_vectors =
      *layout == onednn::BlockedActivations() && onednn::IsaOf("gemm:jit") != "sse41";
  if (has_padding && op.sources() > 2 && !fills_vectors) {
    return Refusal{
        "oneDNN's sum of more than two tensors writes past the result where the last block of "
        "channels is not full and a block is no vector of this CPU"};
  }
  if (op.relu() && has_padding) return MakeAddThenRelu(request, op, *layout);
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto desc = onednn::ToMemoryDesc({op.shape(), request.execution.type, *layout});
    const auto pd = onednn::Describe<dnnl::binary>(AttributesOf(op, desc),
                                                   dnnl::algorithm::binary_add, desc, desc, desc);
    std::vector<onednn::PrimitiveOperand> operands;
    operands.reserve(static_cast<std::size_t>(op.sources()) + 1);
    for (int i = 0; i < op.sources(); ++i) {
      operands.push_back({IndexedSrc(i), Direction::kIn, DnnlArgOf(i), desc});
    }
    operands.push_back({Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()});
    return onednn::MakePrimitiveKernel<dnnl::binary>(request, pd, std::move(operands));
  });
}

KernelOrRefusal MakeUnary(const KernelRequest& request, const UnaryOp& op) {
  const auto algorithm = onednn::AlgorithmOfFunction(op.function().name);
  if (!algorithm || (op.function().name == "hard_swish" && !op.HasDefaults())) {
    return Refusal{fmt::format("oneDNN has no {} here", op.function().name)};
  }
  const bool forward = request.execution.pass == Pass::kForward;
  const std::optional<Layout> layout = CommonLayout(request, op.shape());
  if (!layout) return Refusal{"oneDNN's functions need one layout for all tensors"};
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto desc = onednn::ToMemoryDesc({op.shape(), request.execution.type, *layout});
    const auto forward_pd =
        onednn::Describe<dnnl::eltwise_forward>(onednn::Attributes(), onednn::ForwardKind(request),
                                                *algorithm, desc, desc, op.alpha(), op.beta());
    if (forward) {
      return onednn::MakePrimitiveKernel<dnnl::eltwise_forward>(request, forward_pd);
    }
    const auto pd = onednn::DescribeBackward<dnnl::eltwise_backward>(
        onednn::Attributes(), forward_pd, *algorithm, desc, desc, desc, op.alpha(), op.beta());
    return onednn::MakePrimitiveKernel<dnnl::eltwise_backward>(request, pd);
  });
}

// The binary primitive broadcasts only its second source. What it has only plain code for is
// refused.
KernelOrRefusal MakeBinary(const KernelRequest& request) {
  using dnnl::algorithm;
  if (request.execution.pass != Pass::kForward) return Refusal{"oneDNN has no gradient of it"};
  static const std::map<std::string_view, algorithm> algorithms = {
      {"add", algorithm::binary_add}, {"div", algorithm::binary_div},
      {"max", algorithm::binary_max}, {"min", algorithm::binary_min},
      {"mul", algorithm::binary_mul}, {"sub", algorithm::binary_sub},
  };
  const auto& op = request.OpAs<BinaryOp>();
  const auto found = algorithms.find(op.function().name);
  const int rank = op.dst().rank();
  if (found == algorithms.end() || rank == 0 || op.first() != op.dst()) {
    return Refusal{fmt::format("oneDNN has no {} of these shapes", op.function().name)};
  }
  const std::optional<Layout> layout = CommonLayout(request, op.dst());
  if (!layout) return Refusal{"oneDNN's functions need one layout for all tensors"};
  const auto with = [&](const Layout& of_second) {
    return onednn::Offer(request, [&]() -> KernelOrRefusal {
      const DataType type = request.execution.type;
      const auto image = onednn::ToMemoryDesc({op.dst(), type, *layout});
      const auto second = onednn::ToMemoryDesc({op.second(), type, of_second});
      const auto pd =
          onednn::Describe<dnnl::binary>(onednn::Attributes(), found->second, image, second, image);
      if (std::string_view(pd.impl_info_str()).starts_with("ref"))
        return Refusal{"oneDNN computes it by plain code"};
      return onednn::MakePrimitiveKernel<dnnl::binary>(
          request, pd,
          {{op.first_arg(), Direction::kIn, DNNL_ARG_SRC_0, image},
           {op.second_arg(), Direction::kIn, DNNL_ARG_SRC_1, second},
           {Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()}});
    });
  };
  // (the vector code for blocked channels reads a gate for each channel in the same blocks)
  const bool by_channel = rank > 1 && op.second()[1] == op.dst()[1];
  KernelOrRefusal own = with(by_channel ? *layout : Layout::Plain(rank));
  if (std::holds_alternative<Refusal>(own) && by_channel && op.second() != op.dst()) {
    own = with(Layout::Plain(rank));
  }
  return own;
}

const KernelRegistration kOneDnnAdd("add", "onednn", MakeOneDnnAdd);
const KernelRegistration kOneDnnBinary("binary", "onednn", MakeBinary);
const KernelRegistration kOneDnnUnary("unary", "onednn", MakeUnary);

}  // namespace

}  // namespace topdnn
