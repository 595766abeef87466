// The poolings and Pad.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/activation/relu.h"
#include "kernels/pool/pool.h"
#include "kernels/pool_nd/pool_nd.h"
#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/slice_nodes.h"
#include "networks/onnx/nodes/window_axes.h"

namespace topdnn {

namespace {

// Whether the padding does not change a maximum of a window that has other elements, too: its
// values are below all others, or they are 0 after a ReLU.
bool MaximumIgnores(const NodeImport& node, const PaddedImage& image,
                    const std::vector<SpatialAxis>& axes) {
  if (image.pad.value <= std::numeric_limits<float>::lowest()) return true;
  const GraphNode* producer = node.graph().ProducerOf(image.value.value);
  if (image.pad.value != 0 || producer == nullptr) return false;
  const bool dense = std::all_of(axes.begin(), axes.end(),
                                 [](const SpatialAxis& axis) { return axis.dilation == 1; });
  return dense && dynamic_cast<const ReluOp*>(producer->op.get()) != nullptr;
}

// Whether windows with this padding are those of the padded image. A pooling has no windows of
// padding alone, and in ceil mode leaves out those that begin in the padding at the end.
bool HasSameWindows(const std::vector<SpatialAxis>& joined, const std::vector<SpatialAxis>& padded,
                    bool ceil_mode) {
  return std::equal(joined.begin(), joined.end(), padded.begin(),
                    [&](const SpatialAxis& own, const SpatialAxis& other) {
                      return std::max(own.pad_before, own.pad_after) < own.reach() &&
                             PooledExtent(own, ceil_mode) == PooledExtent(other, ceil_mode);
                    });
}

// Makes the padding of a Pad part of the windows. Adds a layer for it where the pooling would then
// compute something else.
void JoinPad(NodeImport& node, PaddedImage& image, std::vector<SpatialAxis>& axes,
             PoolAlgorithm& algorithm) {
  if (image.pad.none()) return;
  const bool own = std::any_of(axes.begin(), axes.end(), [](const SpatialAxis& axis) {
    return axis.pad_before + axis.pad_after > 0;
  });
  std::vector<SpatialAxis> joined = axes;
  Join(image.pad, joined);
  const bool ignored = algorithm == PoolAlgorithm::kMax && MaximumIgnores(node, image, joined);
  const bool counted = algorithm != PoolAlgorithm::kMax && image.pad.value == 0 &&
                       !(own && algorithm == PoolAlgorithm::kAverage);
  const bool same = HasSameWindows(joined, axes, node.node().Int("ceil_mode", 0) != 0);
  if (!same || (!ignored && !counted)) return PadByLayer(node, image);
  axes = std::move(joined);
  if (counted) algorithm = PoolAlgorithm::kAverageOfPadding;
}

// A pooling of images, without dilation.
ValueId AddPool(NodeImport& node, ValueId image, PoolAlgorithm algorithm,
                const std::vector<SpatialAxis>& axes, bool ceil_mode) {
  const Shape& shape = node.ShapeOf(image);
  const SpatialAxis &h = axes[0], &w = axes[1];
  const PoolExtents extents{.n = shape[0],
                            .c = shape[1],
                            .h = h.extent,
                            .w = w.extent,
                            .r = h.kernel,
                            .s = w.kernel,
                            .stride_h = h.stride,
                            .stride_w = w.stride,
                            .pad_top = h.pad_before,
                            .pad_left = w.pad_before,
                            .pad_bottom = h.pad_after,
                            .pad_right = w.pad_after,
                            .ceil_mode = ceil_mode};
  return node.AddLayer(std::make_shared<PoolOp>(algorithm, extents), {image});
}

PoolNdAlgorithm GeneralOf(PoolAlgorithm algorithm) {
  if (algorithm == PoolAlgorithm::kMax) return PoolNdAlgorithm::kMax;
  return algorithm == PoolAlgorithm::kAverage ? PoolNdAlgorithm::kAverage
                                              : PoolNdAlgorithm::kAverageOfPadding;
}

// A pooling that kernels/pool/ does not have.
void AddPoolNd(NodeImport& node, const ImportedValue& image, PoolNdAlgorithm algorithm,
               std::vector<SpatialAxis> axes, std::int64_t p) {
  const ValueId source = node.Plain(image);
  const Shape& shape = node.ShapeOf(source);
  const auto op = std::make_shared<PoolNdOp>(
      algorithm, PoolNdExtents{.n = shape[0],
                               .c = shape[1],
                               .axes = std::move(axes),
                               .ceil_mode = node.node().Int("ceil_mode", 0) != 0,
                               .p = p});
  node.Produce({node.AddLayer(op, {source}), op->dst_shape()});
}

std::vector<SpatialAxis> PoolWindows(const NodeImport& node, const PaddedImage& image) {
  return WindowsOf(node.node(), image.PaddedShape(),
                   NumbersOf(node.node(), "kernel_shape", image.axes(), 0));
}

void ImportPool(NodeImport& node, PoolAlgorithm algorithm) {
  PaddedImage image = ImageAt(node);
  std::vector<SpatialAxis> axes = PoolWindows(node, image);
  JoinPad(node, image, axes, algorithm);
  const bool ceil_mode = node.node().Int("ceil_mode", 0) != 0;
  const bool dilated = std::any_of(axes.begin(), axes.end(),
                                   [](const SpatialAxis& axis) { return axis.dilation != 1; });
  if (dilated || axes.size() == kMaxSpatialAxes) {
    AddPoolNd(node, image.value, GeneralOf(algorithm), std::move(axes), 2);
    return;
  }
  axes = AsImage(std::move(axes));
  const ValueId source = AsImage(node, image.value);
  ProduceImage(node, AddPool(node, source, algorithm, axes, ceil_mode), image.axes());
}

void ImportLpPool(NodeImport& node) {
  const PaddedImage image = ImageAt(node);
  if (!image.pad.none()) throw UnsupportedNode("a Pad before it is not supported");
  AddPoolNd(node, image.value, PoolNdAlgorithm::kLp, PoolWindows(node, image),
            node.node().Int("p", 2));
}

void ImportGlobalLpPool(NodeImport& node) {
  const PaddedImage image = ImageAt(node);
  if (!image.pad.none()) throw UnsupportedNode("a Pad before it is not supported");
  std::vector<SpatialAxis> axes(image.axes());
  for (std::size_t a = 0; a < axes.size(); ++a) {
    axes[a].extent = axes[a].kernel = image.value.shape[static_cast<int>(a) + 2];
  }
  AddPoolNd(node, image.value, PoolNdAlgorithm::kLp, std::move(axes), node.node().Int("p", 2));
}

// The image as one of two spatial axes: a volume as (D * H, W), which has the same elements.
void ImportGlobalPool(NodeImport& node, PoolAlgorithm algorithm) {
  const PaddedImage image = ImageAt(node);
  if (!image.pad.none()) throw UnsupportedNode("a Pad before it is not supported");
  const Shape& shape = image.value.shape;
  const std::int64_t width = shape[shape.rank() - 1];
  if (shape.elements() < 1) throw UnsupportedNode(fmt::format("of {}", shape.ToString()));
  const std::int64_t height = shape.elements() / (shape[0] * shape[1] * width);
  ImportedValue value = image.value;
  value.shape = Shape{shape[0], shape[1], height, width};
  const auto op =
      std::make_shared<PoolOp>(algorithm, PoolExtents::Global(shape[0], shape[1], height, width));
  const ValueId result = node.AddLayer(op, {node.Plain(value)});
  std::vector<std::int64_t> extents(static_cast<std::size_t>(shape.rank()), 1);
  extents[0] = shape[0];
  extents[1] = shape[1];
  node.Produce({result, Shape(std::move(extents))});
}

void ImportMaxPool(NodeImport& node) { ImportPool(node, PoolAlgorithm::kMax); }

void ImportAveragePool(NodeImport& node) {
  ImportPool(node, node.node().Int("count_include_pad", 0) != 0 ? PoolAlgorithm::kAverageOfPadding
                                                                : PoolAlgorithm::kAverage);
}

void ImportGlobalMaxPool(NodeImport& node) { ImportGlobalPool(node, PoolAlgorithm::kMax); }

void ImportGlobalAveragePool(NodeImport& node) { ImportGlobalPool(node, PoolAlgorithm::kAverage); }

// The pads of all dimensions: all starts, then all ends. Since opset 18 a node may name the axes
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
    const std::int64_t before = BoundedWindow(pads[d], std::numeric_limits<std::int32_t>::min());
    const std::int64_t after =
        BoundedWindow(pads[axes.size() + d], std::numeric_limits<std::int32_t>::min());
    axes[d] = {-before, 1, before + axes[d].extent + after};
  }
  node.Produce(AddSlice(node, value, std::move(axes), border, static_cast<float>(fill)));
}

// Padding of an image becomes part of the convolutions and poolings if nothing else reads it. Any
// other padding is a layer.
void ImportPad(NodeImport& node) {
  static const std::map<std::string, SliceBorder> borders = {{"constant", SliceBorder::kFill},
                                                             {"edge", SliceBorder::kEdge},
                                                             {"reflect", SliceBorder::kReflect},
                                                             {"wrap", SliceBorder::kWrap}};
  const std::string mode = node.node().String("mode", "constant");
  const auto border = borders.find(mode);
  if (border == borders.end()) throw UnsupportedNode(fmt::format("mode {}", Printable(mode)));
  ImportedValue value = node.ExactSourceAt(0);
  const auto pads = PadsOf(node, value.shape.rank());
  double fill = static_cast<double>(node.node().Float("value", 0.0F));
  if (node.opset() >= 11 && node.Has(2)) {
    const std::vector<double> fills = ValuesOf(node.ConstantAt(2));
    if (fills.size() != 1) throw UnsupportedNode("several constant values");
    CheckExactInF32(node.ConstantAt(2).type, fills);
    fill = fills.front();
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
  value.pad = {BoundedWindow(pads[2], 0), BoundedWindow(pads[3], 0), BoundedWindow(pads[6], 0),
               BoundedWindow(pads[7], 0), static_cast<float>(fill)};
  node.Produce(std::move(value));
}

const NodeRegistration kAveragePool("AveragePool", ImportAveragePool);
const NodeRegistration kGlobalAveragePool("GlobalAveragePool", ImportGlobalAveragePool);
const NodeRegistration kGlobalLpPool("GlobalLpPool", ImportGlobalLpPool);
const NodeRegistration kGlobalMaxPool("GlobalMaxPool", ImportGlobalMaxPool);
const NodeRegistration kLpPool("LpPool", ImportLpPool);
const NodeRegistration kMaxPool("MaxPool", ImportMaxPool);
const NodeRegistration kPad("Pad", ImportPad);

}  // namespace

}  // namespace topdnn
