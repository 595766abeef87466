// Gemm and MatMul.

#include <memory>
#include <optional>
#include <utility>

#include "kernels/gemm/gemm.h"
#include "kernels/inner_product/inner_product.h"
#include "tests/networks/onnx/node_translation.h"

namespace topdnn {

namespace {

// A product with a transposed B and no scaling is also an inner product with the weights B.
std::optional<NodeRun> AsInnerProduct(const NodeCase& node, const GemmExtents& e) {
  const OnnxTensor* bias = node.Input(2);
  const bool bias_is_a_row = bias == nullptr || bias->shape == Shape{e.n} ||
                             (bias->shape.rank() == 2 && bias->shape[0] == 1);
  if (e.trans_a || !e.trans_b || e.alpha != 1.0F || node.Float("beta", 1.0F) != 1.0F ||
      !bias_is_a_row) {
    return std::nullopt;
  }
  Values inputs = {{Arg::kSrc, node.Input(0)->values}, {Arg::kWeights, node.Input(1)->values}};
  if (bias != nullptr) inputs[Arg::kBias] = Broadcast(*bias, {1, e.n});
  return NodeRun{std::make_shared<InnerProductOp>(Shape{e.m, e.k}, e.n,
                                                  InnerProductEpilogue{.bias = bias != nullptr}),
                 InferenceOf(node),
                 std::move(inputs),
                 {{Arg::kDst, node.Output(0)->values}}};
}

}  // namespace

Translation TranslateGemm(const NodeCase& node) {
  const Shape& a = node.Input(0)->shape;
  const OnnxTensor* c = node.Input(2);
  const bool trans_a = node.Int("transA", 0) != 0;
  const Shape& dst = node.Output(0)->shape;
  const GemmExtents extents{.m = dst[0],
                            .n = dst[1],
                            .k = a[trans_a ? 0 : 1],
                            .trans_a = trans_a,
                            .trans_b = node.Int("transB", 0) != 0,
                            .alpha = node.Float("alpha", 1.0F),
                            .beta = c == nullptr ? 0.0F : node.Float("beta", 1.0F)};
  Values inputs = {{Arg::kSrc, node.Input(0)->values}, {Arg::kWeights, node.Input(1)->values}};
  // The product is added to C, which is broadcast to the full shape.
  if (c != nullptr) inputs[Arg::kDst] = Broadcast(*c, dst);
  Translation translation;
  translation.runs = {{std::make_shared<GemmOp>(extents),
                       InferenceOf(node),
                       std::move(inputs),
                       {{Arg::kDst, node.Output(0)->values}}}};
  if (const auto run = AsInnerProduct(node, extents)) translation.runs.push_back(*run);
  return translation;
}

Translation TranslateMatMul(const NodeCase& node) {
  const Shape& a = node.Input(0)->shape;
  const Shape& b = node.Input(1)->shape;
  const int rank = a.rank();
  if (rank < 2 || b.rank() != rank) return LeaveOut("a broadcast product");
  std::int64_t batch = 1;
  for (int d = 0; d < rank - 2; ++d) {
    if (a[d] != b[d]) return LeaveOut("a broadcast product");
    batch *= a[d];
  }
  const GemmExtents extents{.m = a[rank - 2], .n = b[rank - 1], .k = a[rank - 1], .batch = batch};
  return {{{std::make_shared<GemmOp>(extents),
            InferenceOf(node),
            {{Arg::kSrc, node.Input(0)->values}, {Arg::kWeights, node.Input(1)->values}},
            {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace topdnn
