// Convolution, deconvolution and pooling of a trace, over one to three spatial axes.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/log/translate/traced_problem.h"
#include "kernels/conv/conv.h"
#include "kernels/conv_nd/conv_nd.h"
#include "kernels/conv_transpose/conv_transpose.h"
#include "kernels/op/spatial_axis.h"
#include "kernels/pool/pool.h"
#include "kernels/pool_nd/pool_nd.h"

namespace topdnn {

namespace {

// A log gives the extent of the result, not the trailing padding.
std::int64_t TrailingPadding(std::int64_t input, std::int64_t outputs, std::int64_t kernel,
                             std::int64_t stride, std::int64_t dilation, std::int64_t leading) {
  return std::max<std::int64_t>(
      0, (outputs - 1) * stride + (kernel - 1) * dilation + 1 - input - leading);
}

// Images have two spatial axes.
bool IsOfImages(const RowReader& row) { return row.Has("ih") && !row.Has("id"); }

// The number of a letter for one axis: "kh".
std::int64_t NumberOf(const RowReader& row, char letter, char axis) {
  return row.Number({letter, axis});
}

// The axes of an operation. `in`: the letter of the extents over which the window moves; `out`: the
// letter of the numbers of windows. 'i' and 'o', but 'o' and 'i' for a deconvolution.
std::vector<SpatialAxis> AxesOf(const RowReader& row, char in, char out) {
  std::vector<SpatialAxis> axes;
  for (const char name : {'d', 'h', 'w'}) {
    if (!row.Has({'i', name})) continue;
    SpatialAxis axis;
    axis.extent = NumberOf(row, in, name);
    axis.kernel = NumberOf(row, 'k', name);
    axis.stride = row.NumberOr({'s', name}, 1);
    axis.dilation = row.NumberOr({'d', name}, 0) + 1;
    axis.pad_before = row.NumberOr({'p', name}, 0);
    axis.pad_after = TrailingPadding(axis.extent, NumberOf(row, out, name), axis.kernel,
                                     axis.stride, axis.dilation, axis.pad_before);
    axes.push_back(axis);
  }
  return axes;
}

// Throws NotTranslated if the numbers of windows in the row contradict the axes, which are valid.
void CheckWindows(const RowReader& row, const std::vector<SpatialAxis>& axes, char out) {
  std::size_t next = 0;
  for (const char name : {'d', 'h', 'w'}) {
    if (!row.Has({'i', name})) continue;
    const std::int64_t windows = axes[next++].outputs();
    if (NumberOf(row, out, name) == windows) continue;
    throw NotTranslated(
        fmt::format("the problem '{}' contradicts itself: it has {} windows along {}",
                    row.row().problem, windows, name));
  }
}

template <class Extents>
void ReadWindow(const RowReader& row, std::int64_t dilation_h, std::int64_t dilation_w,
                Extents& e) {
  e.n = row.Number("mb");
  e.c = row.Number("ic");
  e.h = row.Number("ih");
  e.w = row.Number("iw");
  e.r = row.Number("kh");
  e.s = row.Number("kw");
  e.stride_h = row.NumberOr("sh", 1);
  e.stride_w = row.NumberOr("sw", 1);
  e.pad_top = row.NumberOr("ph", 0);
  e.pad_left = row.NumberOr("pw", 0);
  e.pad_bottom = TrailingPadding(e.h, row.Number("oh"), e.r, e.stride_h, dilation_h, e.pad_top);
  e.pad_right = TrailingPadding(e.w, row.Number("ow"), e.s, e.stride_w, dilation_w, e.pad_left);
}

void CheckOutputs(const RowReader& row, std::int64_t oh, std::int64_t ow) {
  if (row.Number("oh") != oh || row.Number("ow") != ow) {
    throw NotTranslated(fmt::format("the problem '{}' contradicts itself: its result is {}x{}",
                                    row.row().problem, oh, ow));
  }
}

// The post-ops of the row: at most a sum, and after it a ReLU with or without a bound, or another
// function. Throws NotTranslated for others.
ConvEpilogue EpilogueOf(const RowReader& row) {
  ConvEpilogue epilogue{.bias = row.HasTensor("bia")};
  const auto refuse = [&](const TracedPostOp& op) {
    throw NotTranslated(fmt::format("topdnn's convolution has no post-op {} here ({})", op.name,
                                    row.row().attributes));
  };
  for (const TracedPostOp& op : row.PostOps()) {
    if (row.pass() != Pass::kForward) throw NotTranslated("a backward pass has no post-ops");
    const bool last = epilogue.relu || epilogue.function != nullptr;
    if (op.name == "sum" && !epilogue.sum && !last && op.NumberOr(0, 1) == 1 &&
        op.NumberOr(1, 0) == 0) {
      epilogue.sum = true;
    } else if (const std::optional<float> bound = op.ReluBound(); bound && !last) {
      epilogue.relu = true;
      epilogue.bound = *bound;
    } else if (const UnaryFunction* const function = op.Function(); function && !last) {
      epilogue.function = function;
    } else {
      refuse(op);
    }
  }
  return epilogue;
}

// Whether the bias or the gradient of the weights is in bf16 or f16: a framework may store it so.
bool HasNarrowParameters(const RowReader& row) {
  const auto narrow = [&](std::string_view name) {
    if (!row.HasTensor(name)) return false;
    const DataType type = row.TypeOf(row.Tensor(name, 0));
    return type == DataType::kBF16 || type == DataType::kF16;
  };
  if (row.pass() == Pass::kBackwardData) return false;
  const bool gradient = row.pass() == Pass::kBackwardWeights;
  return narrow("bia") || narrow("diff_bia") || (gradient && (narrow("wei") || narrow("diff_wei")));
}

// Refuses what a convolution over any axes does not have.
void CheckPlainConvolution(const RowReader& row, std::string_view what) {
  if (row.HasTensor("bia") || row.HasTensor("diff_bia")) {
    throw NotTranslated(fmt::format("topdnn's {} has no bias", what));
  }
  if (!row.PostOps().empty()) {
    throw NotTranslated(
        fmt::format("topdnn's {} has no post-ops ({})", what, row.row().attributes));
  }
  if (row.Algorithm().ends_with("winograd")) {
    throw NotTranslated(fmt::format("topdnn's {} has no Winograd algorithm", what));
  }
}

// Removes the dimension of groups, the outermost one in the log. The layouts of the log and of
// topdnn are the same only if the weights are row-major; others are refused.
TracedTensor WithoutGroups(TracedTensor weights, std::size_t axes) {
  if (weights.format_kind != "blocked") return weights;
  const int rank = static_cast<int>(axes) + 2;
  if (weights.layout != Layout::Plain(rank + 1).tag()) {
    throw NotTranslated(
        fmt::format("topdnn's weights of several groups are row-major, not in {}", weights.layout));
  }
  weights.layout = Layout::Plain(rank).tag();
  return weights;
}

// Over one or three axes.
TracedProblem ConvNdOf(const RowReader& row) {
  CheckPlainConvolution(row, "convolution of sequences and volumes");
  ConvNdExtents e{.n = row.Number("mb"),
                  .c = row.Number("ic"),
                  .k = row.Number("oc"),
                  .groups = row.NumberOr("g", 1),
                  .axes = AxesOf(row, 'i', 'o')};
  TracedProblem problem;
  problem.op = std::make_shared<ConvNdOp>(e);
  CheckWindows(row, e.axes, 'o');
  problem.execution = {row.pass(), row.training(), row.TypeOf(row.Tensor({"src", "diff_src"}))};
  if (!problem.op->Has(problem.execution)) return problem;
  TracedTensor weights = row.Tensor({"wei", "diff_wei"});
  if (e.groups > 1) weights = WithoutGroups(std::move(weights), e.axes.size());
  SettleProduct(row, weights, problem);
  return problem;
}

// oneDNN's weights of a deconvolution are (OC, IC, ...). topdnn's are those of the convolution that
// it transposes: (IC, OC, ...).
TracedTensor TransposedWeights(const RowReader& row, std::int64_t groups, std::size_t axes) {
  TracedTensor weights = row.Tensor({"wei", "diff_wei"});
  weights.layout = groups > 1 ? ExchangeDimensions(std::move(weights.layout), 'b', 'c')
                              : ExchangeDimensions(std::move(weights.layout), 'a', 'b');
  // topdnn's weights over two axes keep the dimension of groups.
  constexpr std::size_t kImageAxes = 2;
  if (groups == 1 || axes == kImageAxes) return weights;
  return WithoutGroups(std::move(weights), axes);
}

TracedProblem DeconvOf(const RowReader& row) {
  CheckPlainConvolution(row, "deconvolution");
  ConvNdExtents e{.n = row.Number("mb"),
                  .c = row.Number("oc"),
                  .k = row.Number("ic"),
                  .groups = row.NumberOr("g", 1),
                  .axes = AxesOf(row, 'o', 'i')};
  TracedProblem problem;
  problem.op = std::make_shared<ConvTransposeOp>(e);
  CheckWindows(row, e.axes, 'i');
  problem.execution = {row.pass(), row.training(), row.TypeOf(row.Tensor({"src", "diff_src"}))};
  if (!problem.op->Has(problem.execution)) return problem;
  SettleProduct(row, TransposedWeights(row, e.groups, e.axes.size()), problem);
  return problem;
}

TracedProblem ConvOf(const RowReader& row) {
  if (!IsOfImages(row)) return ConvNdOf(row);
  ConvExtents e;
  e.k = row.Number("oc");
  e.groups = row.NumberOr("g", 1);
  e.dilation_h = row.NumberOr("dh", 0) + 1;
  e.dilation_w = row.NumberOr("dw", 0) + 1;
  ReadWindow(row, e.dilation_h, e.dilation_w, e);
  TracedProblem problem;
  ConvEpilogue epilogue = EpilogueOf(row);
  epilogue.narrow = HasNarrowParameters(row);
  problem.op = std::make_shared<ConvOp>(e, epilogue);
  CheckOutputs(row, e.oh(), e.ow());
  problem.execution = {row.pass(), row.training(), row.TypeOf(row.Tensor({"src", "diff_src"}))};
  if (!problem.op->Has(problem.execution)) return problem;
  const bool winograd = row.Algorithm() == "convolution_winograd";
  if (winograd) problem.algorithm = "winograd";
  SettleProduct(row, problem, /*may_choose=*/winograd);
  return problem;
}

PoolAlgorithm PoolAlgorithmOf(const RowReader& row) {
  const std::string name = row.Algorithm();
  if (name == "pooling_max") return PoolAlgorithm::kMax;
  if (name == "pooling_avg_exclude_padding") return PoolAlgorithm::kAverage;
  if (name == "pooling_avg_include_padding" || name == "pooling_avg") {
    return PoolAlgorithm::kAverageOfPadding;
  }
  throw NotTranslated(fmt::format("topdnn has no pooling {}", name));
}

PoolNdAlgorithm InAnyDimensions(PoolAlgorithm algorithm) {
  switch (algorithm) {
    case PoolAlgorithm::kMax:
      return PoolNdAlgorithm::kMax;
    case PoolAlgorithm::kAverage:
      return PoolNdAlgorithm::kAverage;
    case PoolAlgorithm::kAverageOfPadding:
      break;
  }
  return PoolNdAlgorithm::kAverageOfPadding;
}

// Over one or three axes, or with dilation.
TracedProblem PoolNdOf(const RowReader& row) {
  PoolNdExtents e{.n = row.Number("mb"), .c = row.Number("ic"), .axes = AxesOf(row, 'i', 'o')};
  const PoolNdAlgorithm algorithm = InAnyDimensions(PoolAlgorithmOf(row));
  if (algorithm == PoolNdAlgorithm::kMax && row.pass() == Pass::kForward && row.training()) {
    throw NotTranslated(
        "topdnn's maximum pooling of sequences and volumes, and with dilation, is inference, "
        "without the workspace of training");
  }
  TracedProblem problem;
  problem.op = std::make_shared<PoolNdOp>(algorithm, e);
  CheckWindows(row, e.axes, 'o');
  problem.execution = {row.pass(), row.training(), row.TypeOf(row.Tensor({"src", "diff_src"}))};
  if (problem.op->Has(problem.execution)) SettleSrcAndDst(row, problem);
  return problem;
}

TracedProblem PoolOf(const RowReader& row) {
  row.RefuseAttributes();
  const bool dilated = row.NumberOr("dh", 0) != 0 || row.NumberOr("dw", 0) != 0;
  if (!IsOfImages(row) || dilated) return PoolNdOf(row);
  PoolExtents e;
  ReadWindow(row, 1, 1, e);
  PoolAlgorithm algorithm = PoolAlgorithmOf(row);
  // Without padding both averages are the same.
  if (algorithm == PoolAlgorithm::kAverageOfPadding &&
      std::max({e.pad_top, e.pad_left, e.pad_bottom, e.pad_right}) == 0) {
    algorithm = PoolAlgorithm::kAverage;
  }
  const DataType type = row.TypeOf(row.Tensor({"src", "diff_src"}));
  if (algorithm != PoolAlgorithm::kMax && (type == DataType::kU8 || type == DataType::kS8)) {
    throw NotTranslated(fmt::format("topdnn does not say how an average rounds {}", NameOf(type)));
  }
  TracedProblem problem;
  problem.op = std::make_shared<PoolOp>(algorithm, e);
  CheckOutputs(row, e.oh(), e.ow());
  problem.execution = {row.pass(), row.training(), type};
  if (problem.op->Has(problem.execution)) SettleSrcAndDst(row, problem);
  return problem;
}

const TranslatorRegistration kConvolution("convolution", ConvOf);
const TranslatorRegistration kDeconvolution("deconvolution", DeconvOf);
const TranslatorRegistration kPooling("pooling", PoolOf);
const TranslatorRegistration kPoolingV2("pooling_v2", PoolOf);

}  // namespace

}  // namespace topdnn
