#include "networks/onnx/nodes/window_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "networks/onnx/nodes/slice_nodes.h"

namespace topdnn {

namespace {

// SAME: the output extent is ceil(input / stride). Both sides get half of the padding that this
// needs; if it is odd, the end (SAME_UPPER) or the start (SAME_LOWER) gets one more.
void PadToSame(SpatialAxis& axis, bool upper) {
  const std::int64_t outputs = (axis.extent + axis.stride - 1) / axis.stride;
  const std::int64_t covered = (outputs - 1) * axis.stride + axis.reach();
  const std::int64_t padding = std::max<std::int64_t>(covered - axis.extent, 0);
  axis.pad_before = upper ? padding / 2 : padding - padding / 2;
  axis.pad_after = padding - axis.pad_before;
}

// N and C come before the spatial dimensions.
constexpr int kFirstSpatial = 2;

}  // namespace

std::int64_t BoundedWindow(std::int64_t number, std::int64_t least) {
  if (number < least || number > std::numeric_limits<std::int32_t>::max()) {
    throw UnsupportedNode(fmt::format("a kernel, stride, dilation or padding of {}", number));
  }
  return number;
}

std::vector<std::int64_t> NumbersOf(const ModelNode& node, const std::string& attribute,
                                    std::size_t count, std::int64_t otherwise) {
  auto ints = node.Ints(attribute, std::vector<std::int64_t>(count, otherwise));
  if (ints.size() != count) {
    throw UnsupportedNode(fmt::format("{} numbers of {}, not {}", ints.size(), attribute, count));
  }
  return ints;
}

std::vector<SpatialAxis> WindowsOf(const ModelNode& node, const Shape& image,
                                   const std::vector<std::int64_t>& kernel) {
  const std::size_t count = kernel.size();
  const auto strides = NumbersOf(node, "strides", count, 1);
  const auto dilations = NumbersOf(node, "dilations", count, 1);
  const auto pads = NumbersOf(node, "pads", 2 * count, 0);  // all starts, then all ends
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  std::vector<SpatialAxis> axes(count);
  for (std::size_t a = 0; a < count; ++a) {
    axes[a] = {image[static_cast<int>(a) + kFirstSpatial],
               BoundedWindow(kernel[a], 1),
               BoundedWindow(strides[a], 1),
               BoundedWindow(dilations[a], 1),
               BoundedWindow(pads[a], 0),
               BoundedWindow(pads[count + a], 0)};
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      BoundedWindow(axes[a].extent, 1);
      PadToSame(axes[a], auto_pad == "SAME_UPPER");
    } else if (auto_pad == "VALID") {
      axes[a].pad_before = axes[a].pad_after = 0;
    } else if (auto_pad != "NOTSET") {
      throw UnsupportedNode(fmt::format("auto_pad {}", Printable(auto_pad)));
    }
  }
  return axes;
}

Shape PaddedImage::PaddedShape() const {
  if (pad.none()) return value.shape;
  return {value.shape[0], value.shape[1], value.shape[2] + pad.top + pad.bottom,
          value.shape[3] + pad.left + pad.right};
}

PaddedImage ImageAt(NodeImport& node) {
  PaddedImage image{node.SourceAt(0), {}};
  image.pad = std::exchange(image.value.pad, {});
  const int rank = image.value.shape.rank();
  if (rank <= kFirstSpatial || rank > kFirstSpatial + static_cast<int>(kMaxSpatialAxes)) {
    throw UnsupportedNode(
        fmt::format("a window over {}: topdnn supports windows over one to three spatial axes "
                    "after (N, C)",
                    image.value.shape.ToString()));
  }
  return image;
}

void PadByLayer(NodeImport& node, PaddedImage& image) {
  const PendingPad pad = std::exchange(image.pad, {});
  std::vector<SliceAxis> axes = WholeAxes(image.value.shape);
  axes[2] = {-pad.top, 1, pad.top + axes[2].extent + pad.bottom};
  axes[3] = {-pad.left, 1, pad.left + axes[3].extent + pad.right};
  image.value = AddSlice(node, image.value, std::move(axes), SliceBorder::kFill, pad.value);
}

void Join(const PendingPad& pad, std::vector<SpatialAxis>& axes) {
  if (pad.none()) return;
  const auto join = [](SpatialAxis& axis, std::int64_t before, std::int64_t after) {
    axis.extent -= before + after;
    axis.pad_before = BoundedWindow(axis.pad_before + before, 0);
    axis.pad_after = BoundedWindow(axis.pad_after + after, 0);
  };
  join(axes[0], pad.top, pad.bottom);
  join(axes[1], pad.left, pad.right);
}

ValueId AsImage(NodeImport& node, const ImportedValue& value) {
  ImportedValue image = value;
  const Shape& shape = value.shape;
  if (shape.rank() == kFirstSpatial + 1) image.shape = Shape{shape[0], shape[1], 1, shape[2]};
  return node.Plain(image);
}

std::vector<SpatialAxis> AsImage(std::vector<SpatialAxis> axes) {
  if (axes.size() == 1) axes.insert(axes.begin(), SpatialAxis());
  return axes;
}

void ProduceImage(NodeImport& node, ValueId result, std::size_t axes) {
  const Shape& shape = node.ShapeOf(result);
  node.Produce({result, axes == 1 ? Shape{shape[0], shape[1], shape[3]} : shape});
}

}  // namespace topdnn
