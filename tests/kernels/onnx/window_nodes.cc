// Conv and the poolings. An image with one spatial axis is an image of height 1.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/conv/conv.h"
#include "kernels/pool/pool.h"
#include "tests/kernels/onnx/node_translation.h"

namespace topdnn {

namespace {

struct Image {
  std::int64_t n, c, h, w;
};

std::optional<Image> ImageOf(const Shape& shape) {
  if (shape.rank() == 3) return Image{shape[0], shape[1], 1, shape[2]};
  if (shape.rank() == 4) return Image{shape[0], shape[1], shape[2], shape[3]};
  return std::nullopt;
}

std::string SpatialAxes(const Shape& shape) { return fmt::format("{}-D", shape.rank() - 2); }

// How a window moves along one axis.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad_before = 0, pad_after = 0;
};

// Pads for an output extent of ceil(input / stride). Both sides get half of the padding; if it is
// odd, the end (SAME_UPPER) or the start (SAME_LOWER) gets one more.
void PadToSame(WindowAxis& axis, std::int64_t input, bool upper) {
  const std::int64_t outputs = (input + axis.stride - 1) / axis.stride;
  const std::int64_t covered = (outputs - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t padding = std::max<std::int64_t>(covered - input, 0);
  axis.pad_before = upper ? padding / 2 : padding - padding / 2;
  axis.pad_after = padding - axis.pad_before;
}

// Returns rows, then columns. `kernel` has one extent per spatial axis of the node.
std::array<WindowAxis, 2> WindowOf(const NodeCase& node, const Image& image,
                                   const std::vector<std::int64_t>& kernel) {
  const std::size_t axes = kernel.size();
  const std::vector<std::int64_t> ones(axes, 1);
  const std::vector<std::int64_t> zeros(2 * axes, 0);
  const auto strides = node.Ints("strides", ones);
  const auto dilations = node.Ints("dilations", ones);
  const auto pads = node.Ints("pads", zeros);  // all starts, then all ends
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  std::array<WindowAxis, 2> window;
  for (std::size_t a = 0; a < axes; ++a) {
    WindowAxis& axis = window[2 - axes + a];
    axis = {kernel[a], strides[a], dilations[a], pads[a], pads[axes + a]};
    if (auto_pad.starts_with("SAME")) {
      PadToSame(axis, 2 - axes + a == 0 ? image.h : image.w, auto_pad == "SAME_UPPER");
    }
  }
  return window;
}

Translation TranslatePool(const NodeCase& node, PoolAlgorithm algorithm) {
  const OnnxTensor& src = *node.Input(0);
  const auto image = ImageOf(src.shape);
  if (!image) return LeaveOut(SpatialAxes(src.shape) + " windows: topdnn has only 2-D ones");
  const auto [rows, columns] = WindowOf(node, *image, node.Ints("kernel_shape", {}));
  if (rows.dilation != 1 || columns.dilation != 1) {
    return LeaveOut("dilated windows: topdnn's pooling does not support them");
  }
  const PoolExtents extents{.n = image->n,
                            .c = image->c,
                            .h = image->h,
                            .w = image->w,
                            .r = rows.kernel,
                            .s = columns.kernel,
                            .stride_h = rows.stride,
                            .stride_w = columns.stride,
                            .pad_top = rows.pad_before,
                            .pad_left = columns.pad_before,
                            .pad_bottom = rows.pad_after,
                            .pad_right = columns.pad_after,
                            .ceil_mode = node.Int("ceil_mode", 0) != 0};
  Translation translation;
  translation.runs = {{std::make_shared<PoolOp>(algorithm, extents),
                       InferenceOf(node),
                       {{Arg::kSrc, src.values}},
                       {{Arg::kDst, node.Output(0)->values}}}};
  if (node.Output(1) != nullptr) {
    translation.not_compared =
        "Indices: topdnn stores the position in the window, in a format of each backend's own";
  }
  return translation;
}

Translation TranslateGlobalPool(const NodeCase& node, PoolAlgorithm algorithm) {
  const OnnxTensor& src = *node.Input(0);
  const auto image = ImageOf(src.shape);
  if (!image) return LeaveOut(SpatialAxes(src.shape) + " windows: topdnn has only 2-D ones");
  const auto extents = PoolExtents::Global(image->n, image->c, image->h, image->w);
  return {{{std::make_shared<PoolOp>(algorithm, extents),
            InferenceOf(node),
            {{Arg::kSrc, src.values}},
            {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace

Translation TranslateConv(const NodeCase& node) {
  const OnnxTensor& src = *node.Input(0);
  const OnnxTensor& weights = *node.Input(1);
  const OnnxTensor* bias = node.Input(2);
  const auto image = ImageOf(src.shape);
  if (!image) return LeaveOut(SpatialAxes(src.shape) + " windows: topdnn has only 2-D ones");
  const std::vector<std::int64_t> kernel(weights.shape.extents().begin() + 2,
                                         weights.shape.extents().end());
  const auto [rows, columns] = WindowOf(node, *image, kernel);
  const ConvExtents extents{.n = image->n,
                            .c = image->c,
                            .h = image->h,
                            .w = image->w,
                            .k = weights.shape[0],
                            .r = rows.kernel,
                            .s = columns.kernel,
                            .stride_h = rows.stride,
                            .stride_w = columns.stride,
                            .pad_top = rows.pad_before,
                            .pad_left = columns.pad_before,
                            .pad_bottom = rows.pad_after,
                            .pad_right = columns.pad_after,
                            .dilation_h = rows.dilation,
                            .dilation_w = columns.dilation,
                            .groups = node.Int("group", 1)};
  Values inputs = {{Arg::kSrc, src.values}, {Arg::kWeights, weights.values}};
  if (bias != nullptr) inputs[Arg::kBias] = bias->values;
  return {{{std::make_shared<ConvOp>(extents, ConvEpilogue{.bias = bias != nullptr}),
            InferenceOf(node),
            std::move(inputs),
            {{Arg::kDst, node.Output(0)->values}}}}};
}

Translation TranslateMaxPool(const NodeCase& node) {
  return TranslatePool(node, PoolAlgorithm::kMax);
}

Translation TranslateAveragePool(const NodeCase& node) {
  return TranslatePool(node, node.Int("count_include_pad", 0) != 0
                                 ? PoolAlgorithm::kAverageOfPadding
                                 : PoolAlgorithm::kAverage);
}

Translation TranslateGlobalMaxPool(const NodeCase& node) {
  return TranslateGlobalPool(node, PoolAlgorithm::kMax);
}

Translation TranslateGlobalAveragePool(const NodeCase& node) {
  return TranslateGlobalPool(node, PoolAlgorithm::kAverage);
}

}  // namespace topdnn
