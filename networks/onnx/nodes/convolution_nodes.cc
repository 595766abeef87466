// Conv and ConvTranspose.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/bias/bias.h"
#include "kernels/conv/conv.h"
#include "kernels/conv_nd/conv_nd.h"
#include "kernels/conv_transpose/conv_transpose.h"
#include "networks/onnx/nodes/window_axes.h"

namespace topdnn {

namespace {

// The spatial extents of the weights, which have as many dimensions as the image. Throws
// UnsupportedNode when the node's kernel_shape is another one.
std::vector<std::int64_t> KernelOf(const NodeImport& node, const Shape& image) {
  const Shape& weights = node.ConstantAt(1).shape;
  if (weights.rank() != image.rank()) {
    throw UnsupportedNode(
        fmt::format("weights of {} for {}", weights.ToString(), image.ToString()));
  }
  std::vector<std::int64_t> kernel(weights.extents().begin() + 2, weights.extents().end());
  if (const auto declared = node.node().Ints("kernel_shape", kernel); declared != kernel) {
    throw UnsupportedNode(fmt::format("its kernel_shape of [{}] is not that of its weights, [{}]",
                                      fmt::join(declared, ", "), fmt::join(kernel, ", ")));
  }
  return kernel;
}

void CheckWeights(const Shape& weights, const Shape& expected) {
  if (weights != expected) {
    throw UnsupportedNode(
        fmt::format("its weights are {}, not {}", weights.ToString(), expected.ToString()));
  }
}

// The bias of the node, or of an addition that it absorbs; nothing when there is none.
Constant BiasOf(NodeImport& node, std::int64_t channels, std::size_t axes) {
  if (node.Has(2)) return Constant(Constant(), &node.ConstantAt(2));  // not a copy
  return node.AbsorbBias(channels, static_cast<int>(axes));
}

// Adds the bias as a layer of its own.
ValueId AddBias(NodeImport& node, ValueId value, const Constant& bias) {
  if (bias == nullptr) return value;
  const Shape shape = node.ShapeOf(value);
  const ValueId result = node.AddLayer(std::make_shared<BiasOp>(shape), {value});
  node.SetParameter("bias", *bias, Shape{shape[1]});
  return result;
}

// A convolution of images, with its bias.
ValueId AddConv(NodeImport& node, ValueId image, const ConvNdExtents& e, const Constant& bias) {
  const SpatialAxis &h = e.axes[0], &w = e.axes[1];
  const bool has_bias = bias != nullptr;
  const ValueId result = node.AddLayer(
      std::make_shared<ConvOp>(ImageExtents(e), ConvEpilogue{.bias = has_bias}), {image});
  node.SetWeights(1, {e.k, e.c / e.groups, h.kernel, w.kernel});
  if (has_bias) node.SetParameter("bias", *bias, Shape{e.k});
  return result;
}

// A convolution of volumes, and a layer for its bias.
ValueId AddConvNd(NodeImport& node, ValueId image, const ConvNdExtents& e, const Constant& bias) {
  const auto op = std::make_shared<ConvNdOp>(e);
  const ValueId result = node.AddLayer(op, {image});
  node.SetWeights(1, op->weights_shape());
  return AddBias(node, result, bias);
}

void ImportConv(NodeImport& node) {
  const Shape& weights = node.ConstantAt(1).shape;
  PaddedImage image = ImageAt(node);
  if (!image.pad.none() && image.pad.value != 0) PadByLayer(node, image);
  const std::vector<std::int64_t> kernel = KernelOf(node, image.value.shape);
  ConvNdExtents e{.n = image.value.shape[0],
                  .c = image.value.shape[1],
                  .k = weights[0],
                  .groups = BoundedWindow(node.node().Int("group", 1), 1),
                  .axes = WindowsOf(node.node(), image.PaddedShape(), kernel)};
  Join(image.pad, e.axes);
  CheckWeights(weights, SpatialShape(e.k, e.c / e.groups, e.axes,
                                     [](const SpatialAxis& axis) { return axis.kernel; }));
  const std::size_t axes = e.axes.size();
  e.axes = AsImage(std::move(e.axes));
  const ValueId source = AsImage(node, image.value);
  const Constant bias = BiasOf(node, e.k, axes);
  const bool volume = e.axes.size() == kMaxSpatialAxes;
  ProduceImage(node, volume ? AddConvNd(node, source, e, bias) : AddConv(node, source, e, bias),
               axes);
}

// Sets the padding and the extent of the result along one axis of a transposed convolution, whose
// source has `inputs` elements there. `output` is the extent that the node gives, or 0.
void SetOutput(const NodeImport& node, std::int64_t inputs, std::int64_t output_padding,
               std::int64_t output, SpatialAxis& axis) {
  const std::string auto_pad = node.node().String("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const std::int64_t covered =
      axis.stride * (BoundedWindow(inputs, 1) - 1) + output_padding + axis.reach();
  if (output == 0 && same) output = inputs * axis.stride;
  if (output == 0) {
    axis.extent = covered - axis.pad_before - axis.pad_after;
  } else {
    axis.extent = output;
    const std::int64_t padding = std::max<std::int64_t>(covered - output, 0);
    if (!same && padding % 2 != 0 && node.opset() < 11) {
      throw UnsupportedNode("an odd padding for output_shape, which older opsets do not place");
    }
    axis.pad_before = auto_pad == "SAME_UPPER" ? padding / 2 : padding - padding / 2;
    axis.pad_after = padding - axis.pad_before;
  }
  if (axis.extent < 1 || axis.outputs() != inputs) {
    throw UnsupportedNode(fmt::format(
        "an extent of {} from {}: it must be at least 1, and its last elements must be less than "
        "a stride of {} beyond the last window",
        axis.extent, inputs, axis.stride));
  }
}

// The axes of the convolution that the node transposes.
std::vector<SpatialAxis> TransposedWindows(const NodeImport& node, const Shape& image,
                                           const std::vector<std::int64_t>& kernel) {
  const std::size_t count = kernel.size();
  // Padding for SAME follows from the result, below.
  std::vector<SpatialAxis> axes = WindowsOf(node.node(), image, kernel);
  const auto output_padding = NumbersOf(node.node(), "output_padding", count, 0);
  const auto outputs = NumbersOf(node.node(), "output_shape", count, 0);
  const bool given = node.node().Has("output_shape");
  for (std::size_t a = 0; a < count; ++a) {
    SetOutput(node, image[static_cast<int>(a) + 2], BoundedWindow(output_padding[a], 0),
              BoundedWindow(outputs[a], given ? 1 : 0), axes[a]);
  }
  return axes;
}

void ImportConvTranspose(NodeImport& node) {
  const ModelTensor& weights = node.ConstantAt(1);
  const PaddedImage image = ImageAt(node);
  if (!image.pad.none()) throw UnsupportedNode("a Pad before it is not supported");
  const Shape& shape = image.value.shape;
  const std::vector<std::int64_t> kernel = KernelOf(node, shape);
  ConvNdExtents e{.n = shape[0], .k = shape[1]};
  e.groups = BoundedWindow(node.node().Int("group", 1), 1);
  e.c = BoundedWindow(weights.shape[1], 1) * e.groups;
  e.axes = TransposedWindows(node, shape, kernel);
  CheckWeights(weights.shape, SpatialShape(e.k, e.c / e.groups, e.axes,
                                           [](const SpatialAxis& axis) { return axis.kernel; }));
  const std::size_t axes = e.axes.size();
  e.axes = AsImage(std::move(e.axes));
  const ValueId source = AsImage(node, image.value);
  const auto op = std::make_shared<ConvTransposeOp>(e);
  const Constant bias = BiasOf(node, e.c, axes);
  const ValueId result = node.AddLayer(op, {source});
  node.SetParameter("weights", weights, op->Parameters().front().shape);
  ProduceImage(node, AddBias(node, result, bias), axes);
}

const NodeRegistration kConv("Conv", ImportConv);
const NodeRegistration kConvTranspose("ConvTranspose", ImportConvTranspose);

}  // namespace

}  // namespace topdnn
