// Products of matrices on oneDNN: its matmul primitive, which broadcasts the batches.

#include "kernels/library/onednn.h"

#include "kernels/kernel/bound_kernel.h"
#include "kernels/kernel/registry.h"
#include "kernels/matmul/matmul.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeOneDnnMatMul(const KernelRequest& request) {
  if (std::string why = RowMajorRefusal(request, "a product"); !why.empty()) {
    return Refusal{std::move(why)};
  }
  const auto& op = request.OpAs<MatMulOp>();
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    const auto desc_of = [&](const Shape& shape) {
      return onednn::ToMemoryDesc({shape, request.execution.type, Layout::Plain(shape.rank())});
    };
    const auto pd = onednn::Describe<dnnl::matmul>(onednn::Attributes(), desc_of(op.first()),
                                                   desc_of(op.second()), desc_of(op.dst()));
    return onednn::MakePrimitiveKernel<dnnl::matmul>(
        request, pd,
        {{op.first_arg(), Direction::kIn, DNNL_ARG_SRC, pd.src_desc()},
         {op.second_arg(), Direction::kIn, DNNL_ARG_WEIGHTS, pd.weights_desc()},
         {Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()}});
  });
}

const KernelRegistration kMatMulOneDnn("matmul", "onednn", MakeOneDnnMatMul);

}  // namespace

}  // namespace topdnn
