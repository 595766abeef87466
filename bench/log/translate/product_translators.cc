// Inner product and matrix multiplication of a trace.

#include <fmt/format.h>

#include <memory>

#include "bench/log/translate/traced_problem.h"
#include "kernels/gemm/gemm.h"
#include "kernels/inner_product/inner_product.h"

namespace topdnn {

namespace {

TracedProblem InnerProductOf(const RowReader& row) {
  InnerProductEpilogue epilogue{.bias = row.HasTensor("bia")};
  for (const TracedPostOp& op : row.PostOps()) {
    if (row.pass() != Pass::kForward) throw NotTranslated("a backward pass has no post-ops");
    const std::optional<float> bound = op.ReluBound();
    if (!bound || epilogue.relu) {
      throw NotTranslated(fmt::format("topdnn's inner product has no post-op {} here ({})", op.name,
                                      row.row().attributes));
    }
    epilogue.relu = true;
    epilogue.bound = *bound;
  }
  if (row.Has("id")) throw NotTranslated("topdnn has no inner product of volumes");
  if (row.Has("iw") && !row.Has("ih")) throw NotTranslated("topdnn has no inner product of rows");
  Shape src_shape{row.Number("mb"), row.Number("ic")};
  if (row.Has("ih")) {
    src_shape = {row.Number("mb"), row.Number("ic"), row.Number("ih"), row.Number("iw")};
  }
  TracedProblem problem;
  problem.op = std::make_shared<InnerProductOp>(src_shape, row.Number("oc"), epilogue);
  problem.execution = {row.pass(), row.training(), row.TypeOf(row.Tensor({"src", "diff_src"}))};
  if (problem.op->Has(problem.execution)) SettleProduct(row, problem);
  return problem;
}

// Whether a matrix is stored transposed: "ba", or "acb" for a batch of matrices.
bool IsTransposed(const RowReader& row, const TracedTensor& tensor) {
  const std::string tag = row.LayoutOf(tensor).tag();
  if (tag == "ab" || tag == "abc") return false;
  if (tag == "ba" || tag == "acb") return true;
  throw NotTranslated(
      fmt::format("topdnn's gemm needs row-major matrices, not {} in {}", tensor.name, tag));
}

// Checks the type of a matrix. The layout is plain: topdnn's matrices are row-major as stored, and
// a batch of one matrix is a matrix.
void CheckType(const RowReader& row, Arg arg, const TracedTensor& tensor, TracedProblem& problem) {
  TracedTensor stored = tensor;
  stored.layout = Layout::Plain(problem.op->Find(problem.execution, arg)->shape.rank()).tag();
  Settle(row, arg, stored, problem);
}

TracedProblem MatmulOf(const RowReader& row) {
  if (row.HasTensor("bia")) throw NotTranslated("topdnn's gemm has no bias");
  const std::vector<Shape> shapes = row.Shapes();
  if (shapes.size() < 2 || shapes[0].rank() != shapes[1].rank() || shapes[0].rank() < 2 ||
      shapes[0].rank() > 3) {
    throw NotTranslated(
        fmt::format("topdnn's gemm has one batch dimension at most, not {}", row.row().problem));
  }
  const int last = shapes[0].rank() - 1;
  GemmExtents e;
  e.m = shapes[0][last - 1];
  e.k = shapes[0][last];
  e.n = shapes[1][last];
  if (last == 2) e.batch = shapes[0][0];
  if (shapes[1][last - 1] != e.k || (last == 2 && shapes[1][0] != e.batch)) {
    throw NotTranslated(fmt::format("topdnn's gemm does not broadcast {}", row.row().problem));
  }
  for (const TracedPostOp& op : row.PostOps()) {
    if (op.name != "sum" || e.beta != 0 || op.NumberOr(1, 0) != 0) {
      throw NotTranslated(fmt::format("topdnn's gemm has no post-op {}", op.name));
    }
    e.beta = static_cast<float>(op.NumberOr(0, 1));
  }
  const TracedTensor& src = row.Tensor({"src"});
  const TracedTensor& weights = row.Tensor({"wei"});
  const TracedTensor& dst = row.Tensor({"dst"});
  e.trans_a = IsTransposed(row, src);
  e.trans_b = IsTransposed(row, weights);
  if (IsTransposed(row, dst)) throw NotTranslated("topdnn's gemm writes no transposed result");
  TracedProblem problem;
  problem.op = std::make_shared<GemmOp>(e);
  problem.execution = {Pass::kForward, row.training(), row.TypeOf(src)};
  if (!problem.op->Has(problem.execution)) return problem;
  CheckType(row, Arg::kSrc, src, problem);
  CheckType(row, Arg::kWeights, weights, problem);
  CheckType(row, Arg::kDst, dst, problem);
  return problem;
}

const TranslatorRegistration kInnerProduct("inner_product", InnerProductOf);
const TranslatorRegistration kMatmul("matmul", MatmulOf);

}  // namespace

}  // namespace topdnn
