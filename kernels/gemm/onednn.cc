// General matrix multiplication on oneDNN: its matmul primitive, with each operand in its stored
// order.

#include "kernels/library/onednn.h"

#include <fmt/format.h>

#include "kernels/gemm/gemm.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// The descriptor of (rows, columns), or of (batch, rows, columns). `transposed`: the rows are
// innermost in memory.
dnnl::memory::desc MatrixDesc(const GemmExtents& e, DataType type, std::int64_t rows,
                              std::int64_t columns, bool transposed) {
  const Shape shape = e.batch == 1 ? Shape{rows, columns} : Shape{e.batch, rows, columns};
  const std::string order = transposed ? "ba" : "ab";
  const std::string batched = transposed ? "acb" : "abc";
  return onednn::ToMemoryDesc({shape, type, *Layout::Parse(e.batch == 1 ? order : batched)});
}

std::unique_ptr<Kernel> MakeProduct(const KernelRequest& request, const GemmOp& op) {
  const GemmExtents& e = op.extents();
  const GemmProduct p = ProductOf(e, request.execution.pass);
  const auto operand_of = [&](Arg arg) { return *op.Find(request.execution, arg); };
  const Operand out = operand_of(p.out);
  dnnl::primitive_attr attributes = onednn::Attributes();
  dnnl::post_ops post_ops;
  if (e.alpha != 1.0F) onednn::ScaleResult(attributes, post_ops, e.alpha);
  if (out.direction == Direction::kInOut) post_ops.append_sum(e.beta);
  attributes.set_post_ops(post_ops);
  const auto pd = onednn::Describe<dnnl::matmul>(
      attributes, MatrixDesc(e, operand_of(p.lhs).type, p.rows, p.inner, p.trans_lhs),
      MatrixDesc(e, operand_of(p.rhs).type, p.inner, p.columns, p.trans_rhs),
      MatrixDesc(e, out.type, p.rows, p.columns, false));
  const Layout stored = Layout::Plain(out.shape.rank());
  return onednn::MakePrimitiveKernel<dnnl::matmul>(
      request, pd,
      {{p.lhs, Direction::kIn, DNNL_ARG_SRC, pd.src_desc(), stored},
       {p.rhs, Direction::kIn, DNNL_ARG_WEIGHTS, pd.weights_desc(), stored},
       {p.out, out.direction, DNNL_ARG_DST, pd.dst_desc(), stored}});
}

KernelOrRefusal MakeOneDnnGemm(const KernelRequest& request) {
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (!layout.is_any() && !layout.IsPlainFor(operand.shape)) {
      return Refusal{fmt::format("oneDNN's gemm needs row-major operands, but {} has layout {}",
                                 NameOf(operand.arg), layout.tag())};
    }
  }
  return onednn::Offer(request, [&] { return MakeProduct(request, request.OpAs<GemmOp>()); });
}

const KernelRegistration kGemmOneDnn("gemm", "onednn", MakeOneDnnGemm);

}  // namespace

}  // namespace topdnn
