// The row of a log for a problem of topdnn: the opposite of the translators.

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "bench/benchdnn/benchdnn_line.h"
#include "bench/benchdnn/row_maker.h"
#include "bench/benchdnn/row_of_spatial_problem.h"
#include "bench/log/read/function_names.h"
#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/bias/bias.h"
#include "kernels/concat/concat.h"
#include "kernels/conv/conv.h"
#include "kernels/eltwise/add.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/gemm/gemm.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/lrn/lrn.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reorder/reorder.h"
#include "kernels/softmax/softmax.h"

namespace topdnn {

namespace {

// "ih28oh14kh3sh2dh0ph1_iw28..." of a window.
template <class Extents>
std::string WindowText(const Extents& e, std::int64_t dilation_h, std::int64_t dilation_w) {
  return fmt::format("ih{}oh{}kh{}sh{}dh{}ph{}_iw{}ow{}kw{}sw{}dw{}pw{}", e.h, e.oh(), e.r,
                     e.stride_h, dilation_h - 1, e.pad_top, e.w, e.ow(), e.s, e.stride_w,
                     dilation_w - 1, e.pad_left);
}

// The name of a function in a log.
std::string_view Named(std::span<const FunctionNames> names, std::string_view own) {
  const std::string_view name = NameInLog(names, own);
  if (name.empty()) throw NotTranslated(fmt::format("oneDNN has no {}", own));
  return name;
}

// "eltwise_swish:1": a function with its default parameters.
std::string PostOpOf(const UnaryFunction& function) {
  std::string post_op(Named(UnaryFunctionNames(), function.name));
  if (function.parameters > 0) post_op += fmt::format(":{}", function.alpha);
  if (function.parameters > 1) post_op += fmt::format(":{}", function.beta);
  return post_op;
}

void ConvRow(const ConvOp& op, RowMaker& maker) {
  const ConvExtents& e = op.extents();
  const std::string& algorithm = maker.problem().algorithm;
  if (!algorithm.empty() && algorithm != "winograd") {
    throw NotTranslated(fmt::format("oneDNN has no algorithm {}", algorithm));
  }
  const std::string groups = e.groups > 1 ? fmt::format("g{}", e.groups) : "";
  maker.Set("convolution",
            fmt::format("{}mb{}_ic{}oc{}_{}", groups, e.n, e.c, e.k,
                        WindowText(e, e.dilation_h, e.dilation_w)),
            algorithm.empty() ? "alg:convolution_direct" : "alg:convolution_winograd");
  maker.AddProduct();
  const ConvEpilogue& epilogue = op.epilogue();
  if (epilogue.sum) maker.AddPostOp("sum");
  if (epilogue.relu) maker.AddRelu(epilogue.bound);
  if (epilogue.function != nullptr) maker.AddPostOp(PostOpOf(*epilogue.function));
}

void InnerProductRow(const InnerProductOp& op, RowMaker& maker) {
  const Shape& src = op.src_shape();
  const std::string image = src.rank() == 4 ? fmt::format("ih{}iw{}", src[2], src[3]) : "";
  maker.Set("inner_product", fmt::format("mb{}ic{}{}oc{}", src[0], src[1], image, op.outputs()));
  maker.AddProduct();
  if (op.epilogue().relu) maker.AddRelu(op.epilogue().bound);
}

void GemmRow(const GemmOp& op, RowMaker& maker) {
  const GemmExtents& e = op.extents();
  maker.Set("matmul", "");
  maker.NoPasses();
  if (e.alpha != 1) throw NotTranslated("oneDNN's matmul has no alpha");
  const std::string batch = e.batch > 1 ? fmt::format("{}x", e.batch) : "";
  maker.row().problem = fmt::format("{0}{1}x{2}:{0}{2}x{3}:{0}{1}x{3}", batch, e.m, e.k, e.n);
  const auto tag = [&e](bool transposed) {
    return std::string(e.batch > 1 ? (transposed ? "acb" : "abc") : (transposed ? "ba" : "ab"));
  };
  maker.Add("src", {Arg::kSrc}, tag(e.trans_a));
  maker.Add("wei", {Arg::kWeights}, tag(e.trans_b));
  maker.Add("dst", {Arg::kDst}, tag(false));
  if (e.beta != 0) maker.AddPostOp(e.beta == 1 ? "sum" : fmt::format("sum:{}", e.beta));
}

void PoolRow(const PoolOp& op, RowMaker& maker) {
  const PoolExtents& e = op.extents();
  const bool of_padding = op.algorithm() == PoolAlgorithm::kAverageOfPadding;
  if (of_padding && e.ceil_mode) {
    throw NotTranslated("oneDNN counts the elements beyond the padding in an average");
  }
  const char* const algorithm = op.algorithm() == PoolAlgorithm::kMax ? "pooling_max"
                                : of_padding ? "pooling_avg_include_padding"
                                             : "pooling_avg_exclude_padding";
  maker.Set("pooling", fmt::format("mb{}ic{}_{}", e.n, e.c, WindowText(e, 1, 1)),
            fmt::format("alg:{}", algorithm));
  maker.Add("src", {Arg::kSrc, Arg::kDiffSrc});
  maker.Add("dst", {Arg::kDst, Arg::kDiffDst});
}

// "mb2ic64ih56iw56"
std::string ImageText(const Shape& shape) {
  std::string text = fmt::format("mb{}ic{}", shape[0], shape[1]);
  const std::string_view names =
      std::string_view("dhw").substr(static_cast<std::size_t>(std::max(0, 5 - shape.rank())));
  for (int d = 2; d < shape.rank(); ++d) {
    text += fmt::format("i{}{}", names[static_cast<std::size_t>(d - 2)], shape[d]);
  }
  return text;
}

void AddData(RowMaker& maker, std::initializer_list<Arg> data) {
  maker.Add("data", data);
  if (!maker.forward()) maker.Add("diff", {Arg::kDiffSrc});
}

void BatchNormRow(const BatchNormOp& op, RowMaker& maker) {
  if (op.relu_bound() != 0) {
    throw NotTranslated("oneDNN's batch normalization has no bounded ReLU");
  }
  const bool training = maker.problem().execution.training;
  maker.Set("batch_normalization", ImageText(op.shape()),
            fmt::format("flags:{}CH{}", training ? "" : "G", op.relu() ? "R" : ""));
  if (!maker.forward()) maker.row().prop_kind = "backward";
  AddData(maker, {Arg::kSrc});
}

void LrnRow(const LrnOp& op, RowMaker& maker) {
  const LrnSettings& s = op.settings();
  maker.Set(
      "lrn",
      fmt::format("{}ls{}alpha{}beta{}k{}", ImageText(op.shape()), s.size, s.alpha, s.beta, s.k),
      "alg:lrn_across_channels");
  AddData(maker, {Arg::kSrc});
}

void EltwiseRow(const ActivationOp& op, std::string_view algorithm, float alpha, float beta,
                RowMaker& maker) {
  maker.Set("eltwise", op.shape().ToString(),
            fmt::format("alg:eltwise_{} alpha:{} beta:{}", algorithm, alpha, beta));
  AddData(maker, {Arg::kSrc, Arg::kDst});
}

void AddRow(const AddOp& op, RowMaker& maker) {
  const std::string shape = op.shape().ToString();
  if (op.relu() && op.sources() != 2) throw NotTranslated("oneDNN's sum has no ReLU");
  if (op.relu()) {
    maker.Set("binary", shape + ":" + shape, "alg:binary_add");
    maker.AddRelu(0);
  } else {
    maker.Set("sum", shape);
  }
  maker.NoPasses();
  for (int i = 0; i < op.sources(); ++i) maker.Add("src", {IndexedSrc(i)});
  maker.Add("dst", {Arg::kDst});
}

// "alg:reduction_max p:0 eps:0"
std::string ReductionText(ReduceAlgorithm algorithm) {
  const auto text = [](std::string_view name, int p) {
    return fmt::format("alg:reduction_{} p:{} eps:0", name, p);
  };
  switch (algorithm) {
    case ReduceAlgorithm::kSum:
    case ReduceAlgorithm::kMean:
    case ReduceAlgorithm::kMax:
    case ReduceAlgorithm::kMin:
      return text(NameOf(algorithm), 0);
    case ReduceAlgorithm::kProduct:
      return text("mul", 0);
    case ReduceAlgorithm::kL1:
      return text("norm_lp_power_p_sum", 1);
    case ReduceAlgorithm::kL2:
      return text("norm_lp_sum", 2);
    case ReduceAlgorithm::kSumSquare:
      return text("norm_lp_power_p_sum", 2);
    case ReduceAlgorithm::kLogSum:
    case ReduceAlgorithm::kLogSumExp:
      break;
  }
  throw NotTranslated(fmt::format("oneDNN has no reduction {}", NameOf(algorithm)));
}

void ReduceRow(const ReduceOp& op, RowMaker& maker) {
  maker.Set("reduction",
            fmt::format("{}:{}", op.src_shape().ToString(), op.kept_shape().ToString()),
            ReductionText(op.algorithm()));
  maker.NoPasses();
  if (!op.keep_dims()) throw NotTranslated("oneDNN's reduction keeps the dimensions");
  maker.Add("src", {Arg::kSrc});
  maker.Add("dst", {Arg::kDst});
}

void BiasRow(const BiasOp& op, RowMaker& maker) {
  const Shape& shape = op.shape();
  std::string second = fmt::format("1x{}", shape[1]);
  for (int d = 2; d < shape.rank(); ++d) second += "x1";
  maker.Set("binary", shape.ToString() + ":" + second, "alg:binary_add");
  maker.NoPasses();
  maker.Add("src", {Arg::kSrc});
  maker.Add("src", {Arg::kBias}, Layout::Plain(shape.rank()).tag());
  maker.Add("dst", {Arg::kDst});
}

void ConcatRow(const ConcatOp& op, RowMaker& maker) {
  std::string shapes;
  for (const Shape& shape : op.sources()) shapes += (shapes.empty() ? "" : ":") + shape.ToString();
  maker.Set("concat", shapes, fmt::format("axis:{}", op.axis()));
  maker.NoPasses();
  for (std::size_t i = 0; i < op.sources().size(); ++i) {
    maker.Add("src", {IndexedSrc(static_cast<int>(i))});
  }
  maker.Add("dst", {Arg::kDst});
}

void ReorderRow(const ReorderOp& op, RowMaker& maker) {
  const std::string problem = op.Problem();  // "2x16x28x28_fromf32_tof32"
  maker.Set("reorder", problem.substr(0, problem.find('_')));
  maker.NoPasses();
  maker.Add("src", {Arg::kSrc});
  maker.Add("dst", {Arg::kDst});
}

void SoftmaxRow(const SoftmaxOp& op, RowMaker& maker) {
  maker.Set("softmax", fmt::format("{}x{}", op.batch(), op.classes()),
            "alg:softmax_accurate axis:1");
  maker.Add("src", {Arg::kSrc, Arg::kDiffSrc});
  maker.Add("dst", {Arg::kDst, Arg::kDiffDst});
}

// A backward pass reads dst.
std::string FromDst(std::string_view algorithm, const RowMaker& maker) {
  return fmt::format("{}{}", algorithm, maker.forward() ? "" : kUseDstSuffix);
}

void ReluRow(const ReluOp& op, RowMaker& maker) {
  EltwiseRow(op, FromDst(op.bound() == 0 ? "relu" : "clip_v2", maker), 0, op.bound(), maker);
}

void ClipRow(const ClipOp& op, RowMaker& maker) {
  EltwiseRow(op, FromDst("clip_v2", maker), op.lowest(), op.highest(), maker);
}

void SigmoidRow(const SigmoidOp& op, RowMaker& maker) {
  EltwiseRow(op, FromDst("logistic", maker), 0, 0, maker);
}

void HardSigmoidRow(const HardSigmoidOp& op, RowMaker& maker) {
  EltwiseRow(op, "hardsigmoid", op.alpha(), op.beta(), maker);
}

void UnaryRow(const UnaryOp& op, RowMaker& maker) {
  const std::string_view name = Named(UnaryFunctionNames(), op.function().name);
  // The soft ReLU of oneDNN 3 has a factor.
  const float alpha = op.function().name == "softplus" ? 1 : op.alpha();
  maker.Set("eltwise", op.shape().ToString(),
            fmt::format("alg:{} alpha:{} beta:{}", name, alpha, op.beta()));
  AddData(maker, {Arg::kSrc});
}

void BinaryRow(const BinaryOp& op, RowMaker& maker) {
  if (!maker.forward()) throw NotTranslated("oneDNN has no gradient of a product");
  maker.Set("binary", fmt::format("{}:{}", op.first().ToString(), op.second().ToString()),
            fmt::format("alg:{}", Named(BinaryFunctionNames(), op.function().name)));
  maker.NoPasses();
  maker.Add("src", {op.first_arg()});
  maker.Add("src", {op.second_arg()});
  maker.Add("dst", {Arg::kDst});
}

// Writes the row if the operation is of this class.
template <class T, void (*write)(const T& op, RowMaker& maker)>
bool WriteAs(RowMaker& maker) {
  const auto* const op = dynamic_cast<const T*>(&maker.op());
  if (op != nullptr) write(*op, maker);
  return op != nullptr;
}

// By the operation's kind.
constexpr struct {
  std::string_view kind;
  bool (*write)(RowMaker& maker);
} kWriters[] = {
    {"conv", WriteAs<ConvOp, ConvRow>},
    {"conv_nd", WriteAs<ConvNdOp, ConvNdRow>},
    {"conv_transpose", WriteAs<ConvTransposeOp, ConvTransposeRow>},
    {"inner_product", WriteAs<InnerProductOp, InnerProductRow>},
    {"gemm", WriteAs<GemmOp, GemmRow>},
    {"pool", WriteAs<PoolOp, PoolRow>},
    {"pool_nd", WriteAs<PoolNdOp, PoolNdRow>},
    {"batchnorm", WriteAs<BatchNormOp, BatchNormRow>},
    {"lrn", WriteAs<LrnOp, LrnRow>},
    {"softmax", WriteAs<SoftmaxOp, SoftmaxRow>},
    {"relu", WriteAs<ReluOp, ReluRow>},
    {"bounded_relu", WriteAs<ReluOp, ReluRow>},
    {"clip", WriteAs<ClipOp, ClipRow>},
    {"sigmoid", WriteAs<SigmoidOp, SigmoidRow>},
    {"hard_sigmoid", WriteAs<HardSigmoidOp, HardSigmoidRow>},
    {"unary", WriteAs<UnaryOp, UnaryRow>},
    {"binary", WriteAs<BinaryOp, BinaryRow>},
    {"add", WriteAs<AddOp, AddRow>},
    {"bias", WriteAs<BiasOp, BiasRow>},
    {"concat", WriteAs<ConcatOp, ConcatRow>},
    {"interpolate", WriteAs<InterpolateOp, InterpolateRow>},
    {"reduce", WriteAs<ReduceOp, ReduceRow>},
    {"reorder", WriteAs<ReorderOp, ReorderRow>},
};

}  // namespace

TraceRow RowOf(const TracedProblem& problem) {
  RowMaker maker(problem);
  if (!problem.op->Has(problem.execution)) {
    throw NotTranslated(fmt::format("topdnn's {} has no such pass", problem.op->kind()));
  }
  for (const auto& writer : kWriters) {
    if (writer.kind == problem.op->kind() && writer.write(maker)) return std::move(maker.row());
  }
  throw NotTranslated(fmt::format("oneDNN has no primitive for {}", problem.op->kind()));
}

BenchdnnLine BenchdnnLineOf(const TracedProblem& problem) {
  try {
    return BenchdnnLineOf(RowOf(problem));
  } catch (const NotTranslated& error) {
    return {{}, error.what()};
  }
}

}  // namespace topdnn
