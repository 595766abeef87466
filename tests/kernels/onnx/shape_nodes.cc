// Concat, Flatten, Transpose and Resize: operations that only move elements.

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernels/concat/concat.h"
#include "kernels/flatten/flatten.h"
#include "kernels/resize/resize.h"
#include "kernels/transpose/transpose.h"
#include "tests/kernels/onnx/node_translation.h"

namespace topdnn {

Translation TranslateConcat(const NodeCase& node) {
  const std::int64_t axis = node.Int("axis", 0);
  const int rank = node.Input(0)->shape.rank();
  std::vector<Shape> sources;
  Values inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    sources.push_back(node.Input(i)->shape);
    inputs[IndexedSrc(static_cast<int>(i))] = node.Input(i)->values;
  }
  return {{{std::make_shared<ConcatOp>(std::move(sources),
                                       static_cast<int>(axis < 0 ? axis + rank : axis)),
            InferenceOf(node),
            std::move(inputs),
            {{Arg::kDst, node.Output(0)->values}}}}};
}

Translation TranslateTranspose(const NodeCase& node) {
  const OnnxTensor& src = *node.Input(0);
  std::vector<std::int64_t> reversed(static_cast<std::size_t>(src.shape.rank()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<std::int64_t> order = node.Ints("perm", reversed);
  const auto op =
      std::make_shared<TransposeOp>(src.shape, std::vector<int>(order.begin(), order.end()));
  if (op->dst_shape() != node.Output(0)->shape) {
    throw std::logic_error(node.name + ": transposed to " + op->dst_shape().ToString());
  }
  return {
      {{op, InferenceOf(node), {{Arg::kSrc, src.values}}, {{Arg::kDst, node.Output(0)->values}}}}};
}

namespace {

// Uses the shapes; `scales` and `sizes` say the same.
Translation ResizeNearest(const NodeCase& node) {
  const OnnxTensor& src = *node.Input(0);
  const OnnxTensor& dst = *node.Output(0);
  for (int d = 0; d < src.shape.rank(); ++d) {
    if (dst.shape[d] % src.shape[d] != 0) {
      return LeaveOut(
          fmt::format("resizes {} to {}, which is not a whole factor", src.shape[d], dst.shape[d]));
    }
    if (d < 2 && dst.shape[d] != src.shape[d]) return LeaveOut("resizes N or C");
  }
  const auto op = std::make_shared<ResizeOp>(src.shape, dst.shape[2] / src.shape[2],
                                             dst.shape[3] / src.shape[3]);
  return {{{op, InferenceOf(node), {{Arg::kSrc, src.values}}, {{Arg::kDst, dst.values}}}}};
}

}  // namespace

Translation TranslateResize(const NodeCase& node) {
  const std::string mode = node.String("mode", "nearest");
  if (mode != "nearest") return LeaveOut("mode " + mode);
  const std::string rule = node.String("coordinate_transformation_mode", "half_pixel") + " with " +
                           node.String("nearest_mode", "round_prefer_floor");
  if (rule != "half_pixel with round_prefer_floor" && rule != "asymmetric with floor") {
    return LeaveOut("selects pixels by " + rule);
  }
  return ResizeNearest(node);
}

// Upsample, which Resize replaced in opset 10: asymmetric, rounded down.
Translation TranslateUpsample(const NodeCase& node) {
  const std::string mode = node.String("mode", "nearest");
  return mode == "nearest" ? ResizeNearest(node) : LeaveOut("mode " + mode);
}

Translation TranslateFlatten(const NodeCase& node) {
  const OnnxTensor& src = *node.Input(0);
  const int rank = src.shape.rank();
  const std::int64_t axis = node.Int("axis", 1);
  const auto first = static_cast<int>(axis < 0 ? axis + rank : axis);
  // topdnn keeps the first dimension, so the dimensions before the axis are merged into one.
  std::vector<std::int64_t> extents = {1};
  for (int d = 0; d < rank; ++d) {
    if (d < first) {
      extents[0] *= src.shape[d];
    } else {
      extents.push_back(src.shape[d]);
    }
  }
  const auto op = std::make_shared<FlattenOp>(Shape(std::move(extents)));
  if (op->dst_shape() != node.Output(0)->shape) {
    throw std::logic_error(node.name + ": flattened to " + op->dst_shape().ToString());
  }
  return {
      {{op, InferenceOf(node), {{Arg::kSrc, src.values}}, {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace topdnn
