// Convolution and pooling of a trace.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/traces/traced_problem.h"
#include "kernels/conv/conv.h"
#include "kernels/pool/pool.h"

namespace topdnn {

namespace {

// A log gives the extent of the result, not the trailing padding.
std::int64_t TrailingPadding(std::int64_t input, std::int64_t outputs, std::int64_t kernel,
                             std::int64_t stride, std::int64_t dilation, std::int64_t leading) {
  return std::max<std::int64_t>(
      0, (outputs - 1) * stride + (kernel - 1) * dilation + 1 - input - leading);
}

void CheckImages(const RowReader& row) {
  if (row.Has("id")) throw NotTranslated("topdnn has no kernels for volumes (3-D)");
  if (!row.Has("ih")) throw NotTranslated("topdnn has no kernels for sequences (1-D)");
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

// sum, then a ReLU with or without a bound.
ConvEpilogue EpilogueOf(const RowReader& row) {
  ConvEpilogue epilogue{.bias = row.HasTensor("bia")};
  const auto refuse = [&](const TracedPostOp& op) {
    throw NotTranslated(fmt::format("topdnn's convolution has no post-op {} here ({})", op.name,
                                    row.row().attributes));
  };
  for (const TracedPostOp& op : row.PostOps()) {
    if (row.pass() != Pass::kForward) throw NotTranslated("a backward pass has no post-ops");
    const bool last = epilogue.relu;
    if (op.name == "sum" && !epilogue.sum && !last && op.NumberOr(0, 1) == 1 &&
        op.NumberOr(1, 0) == 0) {
      epilogue.sum = true;
    } else if (op.name == "eltwise_relu" && !last && op.NumberOr(0, 0) == 0 &&
               op.NumberOr(2, 1) == 1) {
      epilogue.relu = true;
    } else if (op.name == "eltwise_bounded_relu" && !last && op.NumberOr(2, 1) == 1) {
      epilogue.relu = true;
      epilogue.bound = static_cast<float>(op.NumberOr(0, 0));
    } else if ((op.name == "eltwise_clip" || op.name == "eltwise_clip_v2") && !last &&
               op.NumberOr(0, 0) == 0 && op.NumberOr(1, 0) > 0 && op.NumberOr(2, 1) == 1) {
      epilogue.relu = true;
      epilogue.bound = static_cast<float>(op.NumberOr(1, 0));
    } else {
      refuse(op);
    }
  }
  return epilogue;
}

TracedProblem ConvOf(const RowReader& row) {
  CheckImages(row);
  ConvExtents e;
  e.k = row.Number("oc");
  e.groups = row.NumberOr("g", 1);
  e.dilation_h = row.NumberOr("dh", 0) + 1;
  e.dilation_w = row.NumberOr("dw", 0) + 1;
  ReadWindow(row, e.dilation_h, e.dilation_w, e);
  TracedProblem problem;
  problem.op = std::make_shared<ConvOp>(e, EpilogueOf(row));
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

TracedProblem PoolOf(const RowReader& row) {
  CheckImages(row);
  row.RefuseAttributes();
  if (row.NumberOr("dh", 0) != 0 || row.NumberOr("dw", 0) != 0) {
    throw NotTranslated("topdnn has no pooling with dilation");
  }
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
const TranslatorRegistration kPooling("pooling", PoolOf);
const TranslatorRegistration kPoolingV2("pooling_v2", PoolOf);

}  // namespace

}  // namespace topdnn
