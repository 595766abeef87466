// The primitives of a trace that work element by element, or that move elements: reorder, eltwise,
// sum, binary, concat, resampling, reduction.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/log/read/function_names.h"
#include "bench/log/translate/traced_problem.h"
#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/bias/bias.h"
#include "kernels/concat/concat.h"
#include "kernels/eltwise/add.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reorder/reorder.h"

namespace topdnn {

namespace {

TracedProblem ReorderOf(const RowReader& row) {
  row.RefuseAttributes();
  const TracedTensor& src = row.Tensor({"src"});
  const TracedTensor& dst = row.Tensor({"dst"});
  TracedProblem problem;
  problem.op = std::make_shared<ReorderOp>(row.Shapes().front(), row.TypeOf(src), row.TypeOf(dst));
  problem.execution = {Pass::kForward, true, row.TypeOf(dst)};
  Settle(row, Arg::kSrc, src, problem);
  Settle(row, Arg::kDst, dst, problem);
  return problem;
}

// A function of the table of kernels/eltwise/unary.h.
std::shared_ptr<const Op> UnaryOf(const RowReader& row, const Shape& shape, std::string_view name,
                                  bool from_dst, float alpha, float beta) {
  const auto traced = FunctionOf(name, alpha, beta);
  if (!traced) {
    throw NotTranslated(
        fmt::format("topdnn has no {} of this kind ({})", name, row.row().auxiliary));
  }
  // (the dst of a ReLU has the sign of src)
  if (from_dst && row.pass() != Pass::kForward && name != "eltwise_relu") {
    throw NotTranslated(fmt::format("topdnn's {} computes its gradient from src, not from dst",
                                    traced->function->name));
  }
  return std::make_shared<UnaryOp>(*traced->function, shape, traced->alpha, traced->beta);
}

std::shared_ptr<const Op> EltwiseOp(const RowReader& row, const Shape& shape) {
  std::string name = row.Algorithm();
  // A gradient from dst reads as many bytes as a gradient from src.
  const bool from_dst = name.ends_with(kUseDstSuffix);
  if (from_dst) name.resize(name.size() - kUseDstSuffix.size());
  const auto alpha = static_cast<float>(row.RealOr("alpha", 0));
  const auto beta = static_cast<float>(row.RealOr("beta", 0));
  if (name == "eltwise_relu" && alpha == 0) return std::make_shared<ReluOp>(shape);
  if (name == "eltwise_bounded_relu") return std::make_shared<ReluOp>(shape, alpha);
  if (name == "eltwise_clip" || name == "eltwise_clip_v2") {
    if (alpha == 0 && beta > 0) return std::make_shared<ReluOp>(shape, beta);
    return std::make_shared<ClipOp>(shape, alpha, beta);
  }
  if (name == "eltwise_logistic") return std::make_shared<SigmoidOp>(shape);
  if (name == "eltwise_hardsigmoid") return std::make_shared<HardSigmoidOp>(shape, alpha, beta);
  return UnaryOf(row, shape, name, from_dst, alpha, beta);
}

TracedProblem EltwiseOf(const RowReader& row) {
  row.RefuseAttributes();
  TracedProblem problem;
  problem.op = EltwiseOp(row, row.Shapes().front());
  const TracedTensor& data = row.Tensor({"data", "src", "dst"});
  problem.execution = {row.pass(), row.training(), row.TypeOf(data)};
  if (!problem.op->Has(problem.execution)) return problem;
  if (row.pass() == Pass::kForward) {
    Settle(row, Arg::kSrc, data, problem);
    Settle(row, Arg::kDst, row.HasTensor("dst") ? row.Tensor({"dst"}) : data, problem);
  } else {
    const TracedTensor& diff = row.Tensor({"diff", "diff_src"});
    const bool reads_src = problem.op->Find(problem.execution, Arg::kSrc).has_value();
    Settle(row, reads_src ? Arg::kSrc : Arg::kDst, data, problem);
    Settle(row, Arg::kDiffSrc, diff, problem);
    Settle(row, Arg::kDiffDst, row.HasTensor("diff_dst") ? row.Tensor({"diff_dst"}) : diff,
           problem);
  }
  return problem;
}

TracedProblem AddOf(const RowReader& row, const Shape& shape, std::int64_t sources, bool relu) {
  TracedProblem problem;
  problem.op = std::make_shared<AddOp>(shape, static_cast<int>(sources), relu);
  const TracedTensor& dst = row.Tensor({"dst"});
  problem.execution = {Pass::kForward, true, row.TypeOf(dst)};
  if (!problem.op->Has(problem.execution)) return problem;
  for (int i = 0; i < sources; ++i) {
    Settle(row, IndexedSrc(i), row.Tensor("src", static_cast<std::size_t>(i)), problem);
  }
  Settle(row, Arg::kDst, dst, problem);
  return problem;
}

TracedProblem SumOf(const RowReader& row) {
  row.RefuseAttributes();
  const auto& tensors = row.row().tensors;
  const auto sources = std::count_if(tensors.begin(), tensors.end(), [](const TracedTensor& t) {
    return t.name == "src" && t.present();
  });
  if (sources < 2 || sources > kMaxSources) {
    throw NotTranslated(fmt::format("topdnn's addition has 2 to {} sources", kMaxSources));
  }
  return AddOf(row, row.Shapes().front(), sources, false);
}

// The addition of one number to each channel: a second source of 1xCx1x1.
bool IsBias(const std::vector<Shape>& shapes) {
  if (shapes.size() < 2 || shapes[0].rank() != shapes[1].rank() || shapes[0].rank() < 3) {
    return false;
  }
  for (int d = 0; d < shapes[0].rank(); ++d) {
    if (shapes[1][d] != (d == 1 ? shapes[0][1] : 1)) return false;
  }
  return true;
}

TracedProblem BiasOf(const RowReader& row, const Shape& shape) {
  row.RefuseAttributes();
  TracedProblem problem;
  problem.op = std::make_shared<BiasOp>(shape);
  problem.execution = {Pass::kForward, true, row.TypeOf(row.Tensor("src", 0))};
  if (!problem.op->Has(problem.execution)) return problem;
  Settle(row, Arg::kSrc, row.Tensor("src", 0), problem);
  Settle(row, Arg::kDst, row.Tensor({"dst"}), problem);
  // (the elements of 1xCx1x1 are those of C in any layout)
  TracedTensor bias = row.Tensor("src", 1);
  bias.layout = "a";
  Settle(row, Arg::kBias, bias, problem);
  return problem;
}

// Whether a ReLU follows the addition. Refuses other post-ops.
bool AddsRelu(const RowReader& row) {
  bool relu = false;
  for (const TracedPostOp& op : row.PostOps()) {
    if (relu || op.ReluBound() != 0.0F) {
      throw NotTranslated(fmt::format("topdnn's addition has no post-op {}", op.name));
    }
    relu = true;
  }
  return relu;
}

TracedProblem BinaryOf(const RowReader& row) {
  const std::string name = row.Algorithm();
  const BinaryFunction* const function = FindBinaryFunction(OwnName(BinaryFunctionNames(), name));
  if (function == nullptr) throw NotTranslated(fmt::format("topdnn has no {}", name));
  const std::vector<Shape> shapes = row.Shapes();
  if (shapes.size() != 2) {
    throw NotTranslated(fmt::format("the problem '{}' has no two shapes", row.row().problem));
  }
  const bool add = name == "binary_add";
  if (add && shapes[0] == shapes[1]) return AddOf(row, shapes.front(), 2, AddsRelu(row));
  if (add && IsBias(shapes)) return BiasOf(row, shapes.front());
  row.RefuseAttributes();
  TracedProblem problem;
  const auto op =
      std::make_shared<BinaryOp>(*function, shapes[0], shapes[1], BinaryConstant::kNone);
  problem.op = op;
  problem.execution = {Pass::kForward, true, row.TypeOf(row.Tensor("src", 0))};
  if (!problem.op->Has(problem.execution)) return problem;
  Settle(row, op->first_arg(), row.Tensor("src", 0), problem);
  Settle(row, op->second_arg(), row.Tensor("src", 1), problem);
  Settle(row, Arg::kDst, row.Tensor({"dst"}), problem);
  return problem;
}

TracedProblem ConcatOf(const RowReader& row) {
  row.RefuseAttributes();
  const std::vector<Shape> shapes = row.Shapes();
  TracedProblem problem;
  problem.op = std::make_shared<ConcatOp>(shapes, static_cast<int>(row.Number("axis")));
  const TracedTensor& dst = row.Tensor({"dst"});
  problem.execution = {Pass::kForward, true, row.TypeOf(dst)};
  if (!problem.op->Has(problem.execution)) return problem;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Settle(row, IndexedSrc(static_cast<int>(i)), row.Tensor("src", i), problem);
  }
  Settle(row, Arg::kDst, dst, problem);
  return problem;
}

// oneDNN's coordinates are those of half pixels, and its scales are the ratios of the extents. Its
// nearest element is the same as topdnn's only for whole factors.
TracedProblem ResamplingOf(const RowReader& row) {
  row.RefuseAttributes();
  const std::string name = row.Algorithm();
  const bool nearest = name == "resampling_nearest";
  if (!nearest && name != "resampling_linear") {
    throw NotTranslated(fmt::format("topdnn has no {}", name));
  }
  std::vector<std::int64_t> src = {row.Number("mb"), row.Number("ic")};
  std::vector<std::int64_t> dst = src;
  std::vector<double> scales = {1, 1};
  for (const char axis : {'d', 'h', 'w'}) {
    if (!row.Has({'i', axis})) continue;
    src.push_back(row.Number({'i', axis}));
    dst.push_back(row.Number({'o', axis}));
    scales.push_back(static_cast<double>(dst.back()) / static_cast<double>(src.back()));
  }
  const auto op = std::make_shared<InterpolateOp>(
      Shape(std::move(src)), Shape(std::move(dst)), std::move(scales),
      InterpolateSettings{.interpolation =
                              nearest ? Interpolation::kNearest : Interpolation::kLinear});
  if (nearest && !op->RepeatedPixels()) {
    throw NotTranslated("topdnn resizes to the nearest pixel of images only, by whole factors");
  }
  TracedProblem problem;
  problem.op = op;
  problem.execution = {row.pass(), row.training(), row.TypeOf(row.Tensor({"src", "diff_src"}))};
  if (problem.op->Has(problem.execution)) SettleSrcAndDst(row, problem);
  return problem;
}

// A norm of p = 1 is the sum of the magnitudes, and a norm of p = 2 is based on the sum of squares.
ReduceAlgorithm NormOf(const RowReader& row, bool root) {
  if (row.RealOr("eps", 0) != 0) throw NotTranslated("topdnn's norms have no eps");
  const double p = row.RealOr("p", 0);
  if (p == 1) return ReduceAlgorithm::kL1;
  if (p == 2) return root ? ReduceAlgorithm::kL2 : ReduceAlgorithm::kSumSquare;
  throw NotTranslated(fmt::format("topdnn has no norm of p = {}", p));
}

ReduceAlgorithm ReduceAlgorithmOf(const RowReader& row) {
  const std::string name = row.Algorithm();
  if (name == "reduction_sum") return ReduceAlgorithm::kSum;
  if (name == "reduction_mean") return ReduceAlgorithm::kMean;
  if (name == "reduction_max") return ReduceAlgorithm::kMax;
  if (name == "reduction_min") return ReduceAlgorithm::kMin;
  if (name == "reduction_mul") return ReduceAlgorithm::kProduct;
  // "max" and "sum" combine the norm with eps. They are the norm if eps is 0.
  if (name == "reduction_norm_lp_max" || name == "reduction_norm_lp_sum") {
    return NormOf(row, /*root=*/true);
  }
  if (name == "reduction_norm_lp_power_p_max" || name == "reduction_norm_lp_power_p_sum") {
    return NormOf(row, /*root=*/false);
  }
  throw NotTranslated(fmt::format("topdnn has no {}", name));
}

TracedProblem ReductionOf(const RowReader& row) {
  row.RefuseAttributes();
  const ReduceAlgorithm algorithm = ReduceAlgorithmOf(row);
  const std::vector<Shape> shapes = row.Shapes();
  if (shapes.size() < 2 || shapes[0].rank() != shapes[1].rank()) {
    throw NotTranslated(fmt::format("the problem '{}' has no two shapes", row.row().problem));
  }
  std::vector<int> axes;
  for (int d = 0; d < shapes[0].rank(); ++d) {
    if (shapes[0][d] == shapes[1][d]) continue;
    if (shapes[1][d] != 1) {
      throw NotTranslated(
          fmt::format("the problem '{}' contradicts itself: a reduced extent is 1, not {}",
                      row.row().problem, shapes[1][d]));
    }
    axes.push_back(d);
  }
  TracedProblem problem;
  problem.op = std::make_shared<ReduceOp>(algorithm, shapes[0], axes);
  const TracedTensor& src = row.Tensor({"src"});
  problem.execution = {Pass::kForward, true, row.TypeOf(src)};
  if (!problem.op->Has(problem.execution)) return problem;
  Settle(row, Arg::kSrc, src, problem);
  Settle(row, Arg::kDst, row.Tensor({"dst"}), problem);
  return problem;
}

const TranslatorRegistration kReorder("reorder", ReorderOf);
const TranslatorRegistration kEltwiseRows("eltwise", EltwiseOf);
const TranslatorRegistration kSum("sum", SumOf);
const TranslatorRegistration kBinaryRows("binary", BinaryOf);
const TranslatorRegistration kConcat("concat", ConcatOf);
const TranslatorRegistration kResampling("resampling", ResamplingOf);
const TranslatorRegistration kReduction("reduction", ReductionOf);

}  // namespace

}  // namespace topdnn
