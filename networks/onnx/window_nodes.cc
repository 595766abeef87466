// Conv, the poolings, and the Pad before them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "kernels/activation/relu.h"
#include "kernels/conv/conv.h"
#include "kernels/pool/pool.h"
#include "networks/onnx/node_import.h"
#include "networks/onnx/slice_nodes.h"

namespace topdnn {

namespace {

// The movement of a window along one axis of the image.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad_before = 0, pad_after = 0;
};

// Throws UnsupportedNode unless the number is so small that products of two such numbers, and sums
// of these, fit 64 bits.
std::int64_t Bounded(std::int64_t number, std::int64_t least) {
  if (number < least || number > std::numeric_limits<std::int32_t>::max()) {
    throw UnsupportedNode(fmt::format("a kernel, stride, dilation or padding of {}", number));
  }
  return number;
}

// SAME: the output extent is ceil(input / stride). Both sides get half of the padding that this
// needs; if it is odd, the end (SAME_UPPER) or the start (SAME_LOWER) gets one more.
void PadToSame(WindowAxis& axis, std::int64_t input, bool upper) {
  const std::int64_t outputs = (input + axis.stride - 1) / axis.stride;
  const std::int64_t covered = (outputs - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t padding = std::max<std::int64_t>(covered - input, 0);
  axis.pad_before = upper ? padding / 2 : padding - padding / 2;
  axis.pad_after = padding - axis.pad_before;
}

std::vector<std::int64_t> TwoOf(const ModelNode& node, const std::string& attribute,
                                std::size_t count, std::int64_t otherwise) {
  auto ints = node.Ints(attribute, std::vector<std::int64_t>(count, otherwise));
  if (ints.size() != count) {
    throw UnsupportedNode(
        fmt::format("{} numbers of {}: topdnn's windows are 2-D", ints.size(), attribute));
  }
  return ints;
}

// Returns rows, then columns, for an image (N, C, H, W).
std::array<WindowAxis, 2> WindowOf(const ModelNode& node, const Shape& image,
                                   const std::vector<std::int64_t>& kernel) {
  const auto strides = TwoOf(node, "strides", 2, 1);
  const auto dilations = TwoOf(node, "dilations", 2, 1);
  const auto pads = TwoOf(node, "pads", 4, 0);  // all starts, then all ends
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  std::array<WindowAxis, 2> window;
  for (std::size_t a = 0; a < 2; ++a) {
    WindowAxis& axis = window[a];
    axis = {Bounded(kernel[a], 1), Bounded(strides[a], 1), Bounded(dilations[a], 1),
            Bounded(pads[a], 0), Bounded(pads[a + 2], 0)};
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      PadToSame(axis, Bounded(image[static_cast<int>(a) + 2], 1), auto_pad == "SAME_UPPER");
    } else if (auto_pad == "VALID") {
      axis.pad_before = axis.pad_after = 0;
    } else if (auto_pad != "NOTSET") {
      throw UnsupportedNode(fmt::format("auto_pad {}", Printable(auto_pad)));
    }
  }
  return window;
}

// The image that a window operation reads, and the padding that the operation must apply.
struct PaddedImage {
  ValueId value;
  Shape shape;  // without the padding
  PendingPad pad;
};

PaddedImage ImageAt(NodeImport& node) {
  ImportedValue source = node.SourceAt(0);
  PaddedImage image{-1, {}, source.pad};
  source.pad = {};
  image.value = node.Plain(source);
  image.shape = node.ShapeOf(image.value);
  if (image.shape.rank() != 4) {
    throw UnsupportedNode(fmt::format(
        "a window over {}: topdnn supports 2-D windows over (N, C, H, W)", image.shape.ToString()));
  }
  return image;
}

void Join(const PendingPad& pad, std::array<WindowAxis, 2>& window) {
  window[0].pad_before = Bounded(window[0].pad_before + pad.top, 0);
  window[0].pad_after = Bounded(window[0].pad_after + pad.bottom, 0);
  window[1].pad_before = Bounded(window[1].pad_before + pad.left, 0);
  window[1].pad_after = Bounded(window[1].pad_after + pad.right, 0);
}

// The shape with padding. SAME is computed from it.
Shape PaddedShape(const PaddedImage& image) {
  return {image.shape[0], image.shape[1], image.shape[2] + image.pad.top + image.pad.bottom,
          image.shape[3] + image.pad.left + image.pad.right};
}

// Whether the padding does not change a maximum: its values are below all others, or they are 0
// after a ReLU and no window covers only padding.
bool MaximumIgnores(const NodeImport& node, const PaddedImage& image,
                    const std::array<WindowAxis, 2>& window) {
  if (image.pad.value <= std::numeric_limits<float>::lowest()) return true;
  const int producer = node.graph().values()[static_cast<std::size_t>(image.value)].producer;
  if (image.pad.value != 0 || producer < 0) return false;
  const Op& op = *node.graph().nodes()[static_cast<std::size_t>(producer)].op;
  const bool inside =
      window[0].pad_before < window[0].kernel && window[0].pad_after < window[0].kernel &&
      window[1].pad_before < window[1].kernel && window[1].pad_after < window[1].kernel;
  return inside && dynamic_cast<const ReluOp*>(&op) != nullptr;
}

void ImportPool(NodeImport& node, PoolAlgorithm algorithm) {
  const PaddedImage image = ImageAt(node);
  auto window = WindowOf(node.node(), PaddedShape(image), TwoOf(node.node(), "kernel_shape", 2, 0));
  if (window[0].dilation != 1 || window[1].dilation != 1) {
    throw UnsupportedNode("dilated windows");
  }
  if (!image.pad.none()) {
    const bool own =
        window[0].pad_before + window[0].pad_after + window[1].pad_before + window[1].pad_after > 0;
    Join(image.pad, window);
    if (algorithm == PoolAlgorithm::kMax) {
      if (!MaximumIgnores(node, image, window)) {
        throw UnsupportedNode(fmt::format("a Pad with {} before it", image.pad.value));
      }
    } else if (image.pad.value != 0 || (own && algorithm == PoolAlgorithm::kAverage)) {
      throw UnsupportedNode(fmt::format("a Pad with {} before it", image.pad.value));
    } else {
      algorithm = PoolAlgorithm::kAverageOfPadding;
    }
  }
  const auto& [rows, columns] = window;
  const PoolExtents extents{.n = image.shape[0],
                            .c = image.shape[1],
                            .h = image.shape[2],
                            .w = image.shape[3],
                            .r = rows.kernel,
                            .s = columns.kernel,
                            .stride_h = rows.stride,
                            .stride_w = columns.stride,
                            .pad_top = rows.pad_before,
                            .pad_left = columns.pad_before,
                            .pad_bottom = rows.pad_after,
                            .pad_right = columns.pad_after,
                            .ceil_mode = node.node().Int("ceil_mode", 0) != 0};
  const ValueId result = node.AddLayer(std::make_shared<PoolOp>(algorithm, extents), {image.value});
  node.Produce({result, node.ShapeOf(result)});
}

void ImportGlobalPool(NodeImport& node, PoolAlgorithm algorithm) {
  const PaddedImage image = ImageAt(node);
  if (!image.pad.none()) throw UnsupportedNode("a Pad before it is not supported");
  const auto extents =
      PoolExtents::Global(image.shape[0], image.shape[1], image.shape[2], image.shape[3]);
  const ValueId result = node.AddLayer(std::make_shared<PoolOp>(algorithm, extents), {image.value});
  node.Produce({result, node.ShapeOf(result)});
}

void ImportConv(NodeImport& node) {
  const ModelTensor& weights = node.ConstantAt(1);
  if (weights.shape.rank() != 4) {
    throw UnsupportedNode(
        fmt::format("weights of {}: topdnn's convolutions are 2-D", weights.shape.ToString()));
  }
  const PaddedImage image = ImageAt(node);
  if (!image.pad.none() && image.pad.value != 0) {
    throw UnsupportedNode(fmt::format("a Pad with {} before it", image.pad.value));
  }
  const std::vector<std::int64_t> kernel = {weights.shape[2], weights.shape[3]};
  if (const auto declared = node.node().Ints("kernel_shape", kernel); declared != kernel) {
    throw UnsupportedNode(fmt::format("its kernel_shape of [{}] is not that of its weights, [{}]",
                                      fmt::join(declared, ", "), fmt::join(kernel, ", ")));
  }
  auto window = WindowOf(node.node(), PaddedShape(image), kernel);
  Join(image.pad, window);
  const auto& [rows, columns] = window;
  const ConvExtents extents{.n = image.shape[0],
                            .c = image.shape[1],
                            .h = image.shape[2],
                            .w = image.shape[3],
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
                            .groups = Bounded(node.node().Int("group", 1), 1)};
  const Shape expected{extents.k, extents.c / extents.groups, extents.r, extents.s};
  if (weights.shape != expected) {
    throw UnsupportedNode(
        fmt::format("its weights are {}, not {}", weights.shape.ToString(), expected.ToString()));
  }
  Constant absorbed;
  if (!node.Has(2)) absorbed = node.AbsorbBias(extents.k, 2);
  const bool has_bias = node.Has(2) || absorbed != nullptr;
  const ValueId result = node.AddLayer(
      std::make_shared<ConvOp>(extents, ConvEpilogue{.bias = has_bias}), {image.value});
  node.SetParameter("weights", weights, expected);
  if (has_bias) {
    node.SetParameter("bias", absorbed ? *absorbed : node.ConstantAt(2), Shape{extents.k});
  }
  node.Produce({result, node.ShapeOf(result)});
}

void ImportMaxPool(NodeImport& node) { ImportPool(node, PoolAlgorithm::kMax); }

void ImportAveragePool(NodeImport& node) {
  ImportPool(node, node.node().Int("count_include_pad", 0) != 0 ? PoolAlgorithm::kAverageOfPadding
                                                                : PoolAlgorithm::kAverage);
}

void ImportGlobalMaxPool(NodeImport& node) { ImportGlobalPool(node, PoolAlgorithm::kMax); }

void ImportGlobalAveragePool(NodeImport& node) { ImportGlobalPool(node, PoolAlgorithm::kAverage); }

// The pads of all dimensions, all starts, then all ends. Since opset 18 a node may name the axes
// that its pads are for.
std::vector<std::int64_t> PadsOf(const NodeImport& node, int rank) {
  const auto pads = node.opset() >= 11 ? IntsOf(node.ConstantAt(1)) : node.node().Ints("pads", {});
  constexpr std::size_t kAxesInput = 3;
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (node.opset() >= 18 && node.Has(kAxesInput)) axes = node.Axes(kAxesInput, "", rank);
  if (pads.size() != 2 * axes.size()) {
    throw UnsupportedNode(fmt::format("{} pads for {} dimensions", pads.size(), axes.size()));
  }
  std::vector<std::int64_t> all(2 * static_cast<std::size_t>(rank), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    all[axis] = pads[i];
    all[static_cast<std::size_t>(rank) + axis] = pads[axes.size() + i];
  }
  return all;
}

// A layer that pads any dimensions. A negative number removes elements.
void PadByLayer(NodeImport& node, const ImportedValue& value, const std::vector<std::int64_t>& pads,
                SliceBorder border, double fill) {
  std::vector<SliceAxis> axes = WholeAxes(value.shape);
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const std::int64_t before = Bounded(pads[d], std::numeric_limits<std::int32_t>::min());
    const std::int64_t after =
        Bounded(pads[axes.size() + d], std::numeric_limits<std::int32_t>::min());
    axes[d] = {-before, 1, before + axes[d].extent + after};
  }
  node.Produce(AddSlice(node, value, std::move(axes), border, static_cast<float>(fill)));
}

// Padding of an image becomes part of the convolutions and poolings that read it.
void ImportPad(NodeImport& node) {
  static const std::map<std::string, SliceBorder> borders = {{"constant", SliceBorder::kFill},
                                                             {"edge", SliceBorder::kEdge},
                                                             {"reflect", SliceBorder::kReflect},
                                                             {"wrap", SliceBorder::kWrap}};
  const std::string mode = node.node().String("mode", "constant");
  const auto border = borders.find(mode);
  if (border == borders.end()) throw UnsupportedNode(fmt::format("mode {}", Printable(mode)));
  ImportedValue value = node.SourceAt(0);
  const auto pads = PadsOf(node, value.shape.rank());
  double fill = static_cast<double>(node.node().Float("value", 0.0F));
  if (node.opset() >= 11 && node.Has(2)) {
    if (node.ConstantAt(2).elements() != 1) throw UnsupportedNode("several constant values");
    fill = ValuesOf(node.ConstantAt(2)).front();
  }
  if (std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; })) {
    node.Produce(std::move(value));
    return;
  }
  const bool of_image = border->second == SliceBorder::kFill && value.shape.rank() == 4 &&
                        pads[0] == 0 && pads[1] == 0 && pads[4] == 0 && pads[5] == 0 &&
                        std::all_of(pads.begin(), pads.end(), [](auto pad) { return pad >= 0; });
  if (!of_image || !node.IsReadOnlyBy({"AveragePool", "Conv", "MaxPool"})) {
    PadByLayer(node, value, pads, border->second, fill);
    return;
  }
  if (!value.pad.none()) throw UnsupportedNode("a Pad after a Pad");
  value.pad = {Bounded(pads[2], 0), Bounded(pads[3], 0), Bounded(pads[6], 0), Bounded(pads[7], 0),
               static_cast<float>(fill)};
  node.Produce(std::move(value));
}

const NodeRegistration kAveragePool("AveragePool", ImportAveragePool);
const NodeRegistration kConv("Conv", ImportConv);
const NodeRegistration kGlobalAveragePool("GlobalAveragePool", ImportGlobalAveragePool);
const NodeRegistration kGlobalMaxPool("GlobalMaxPool", ImportGlobalMaxPool);
const NodeRegistration kMaxPool("MaxPool", ImportMaxPool);
const NodeRegistration kPad("Pad", ImportPad);

}  // namespace

}  // namespace topdnn
