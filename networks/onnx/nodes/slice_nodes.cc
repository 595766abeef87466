// Slice, Split, Tile, Expand, DepthToSpace and SpaceToDepth.

#include "networks/onnx/nodes/slice_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/transpose/transpose.h"
#include "networks/onnx/nodes/index_nodes.h"

namespace topdnn {

std::vector<SliceAxis> WholeAxes(const Shape& shape) {
  std::vector<SliceAxis> axes;
  for (const std::int64_t extent : shape.extents()) axes.push_back({.extent = extent});
  return axes;
}

ImportedValue AddSlice(NodeImport& node, const ImportedValue& value, std::vector<SliceAxis> axes,
                       SliceBorder border, float fill) {
  if (axes == WholeAxes(value.shape)) return value;
  if (std::any_of(axes.begin(), axes.end(),
                  [](const SliceAxis& axis) { return axis.extent == 0; })) {
    std::vector<std::int64_t> extents;
    extents.reserve(axes.size());
    for (const SliceAxis& axis : axes) extents.push_back(axis.extent);
    return {-1, Shape(std::move(extents)), {}, {}, value.type};
  }
  const ValueId source = node.Plain(value);
  const auto op = std::make_shared<SliceOp>(node.ShapeOf(source), std::move(axes), border, fill);
  return {node.AddLayer(op, {source}), op->dst_shape(), {}, {}, value.type};
}

namespace {

// The indices from `start` to before `end`, as NumPy clamps them.
SliceAxis ClampedAxis(std::int64_t start, std::int64_t end, std::int64_t step,
                      std::int64_t extent) {
  if (step == 0) throw UnsupportedNode("a step of 0");
  const auto clamped = [&](std::int64_t at, std::int64_t least, std::int64_t most) {
    return std::clamp(at < 0 ? at + extent : at, least, most);
  };
  SliceAxis axis{.step = step};
  if (step > 0) {
    axis.start = clamped(start, 0, extent);
    const std::int64_t length = clamped(end, 0, extent) - axis.start;
    axis.extent = length <= 0 ? 0 : (length - 1) / step + 1;
  } else {
    // An end of -1 means the last index. An end below -extent is the place before the first index.
    axis.start = clamped(start, -1, extent - 1);
    const std::int64_t last = end < -extent ? -1 : clamped(end, -1, extent - 1);
    const std::int64_t length = axis.start - last;
    axis.extent = length <= 0 ? 0 : static_cast<std::int64_t>((length - 1) / -step) + 1;
  }
  return axis;
}

void ImportSlice(NodeImport& node) {
  const ImportedValue value = node.AnySourceAt(0);
  const bool by_input = node.opset() >= 10;
  const auto ints = [&](std::size_t input, const char* attribute) {
    return by_input ? IntsOf(node.ConstantAt(input)) : node.node().Ints(attribute, {});
  };
  const std::vector<std::int64_t> starts = ints(1, "starts"), ends = ints(2, "ends");
  std::vector<int> dimensions = node.Axes(by_input ? 3 : node.inputs(), "axes", value.shape.rank());
  if (dimensions.empty()) {
    dimensions.resize(starts.size());
    std::iota(dimensions.begin(), dimensions.end(), 0);
  }
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (by_input && node.Has(4)) steps = IntsOf(node.ConstantAt(4));
  if (starts.size() > static_cast<std::size_t>(value.shape.rank()) ||
      ends.size() != starts.size() || dimensions.size() != starts.size() ||
      steps.size() != starts.size()) {
    throw UnsupportedNode("starts, ends, axes and steps of different lengths");
  }
  std::vector<SliceAxis> axes = WholeAxes(value.shape);
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int d = dimensions[i];
    axes[static_cast<std::size_t>(d)] =
        ClampedAxis(std::clamp(starts[i], -kLimit, kLimit), std::clamp(ends[i], -kLimit, kLimit),
                    std::clamp(steps[i], -kLimit, kLimit), value.shape[d]);
  }
  node.Produce(AddSlice(node, value, std::move(axes), SliceBorder::kNone, 0));
}

void ImportSplit(NodeImport& node) {
  const ImportedValue value = node.AnySourceAt(0);
  const int axis = AxisOf(node, value.shape, 0);
  const std::int64_t extent = value.shape[axis];
  const auto parts = static_cast<std::int64_t>(node.node().outputs.size());
  std::vector<std::int64_t> lengths = node.node().Ints("split", {});
  if (node.opset() >= 13 && node.Has(1)) lengths = IntsOf(node.ConstantAt(1));
  if (lengths.empty()) {
    // The last part is shorter if the extent is no multiple.
    const std::int64_t length = (extent + parts - 1) / parts;
    lengths.assign(static_cast<std::size_t>(parts), length);
    lengths.back() = extent - length * (parts - 1);
  }
  std::int64_t sum = 0;
  bool fits = lengths.size() == static_cast<std::size_t>(parts);
  for (const std::int64_t length : lengths) {
    fits = fits && length >= 0 && length <= extent - sum;
    if (fits) sum += length;
  }
  if (!fits || sum != extent) {
    throw UnsupportedNode(
        fmt::format("{} elements in {} parts of [{}]", extent, parts, fmt::join(lengths, ", ")));
  }
  std::int64_t start = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (node.IsRead(i)) {
      std::vector<SliceAxis> axes = WholeAxes(value.shape);
      axes[static_cast<std::size_t>(axis)] = {start, 1, lengths[i]};
      node.Produce(AddSlice(node, value, std::move(axes), SliceBorder::kNone, 0), i);
    }
    start += lengths[i];
  }
}

void ImportTile(NodeImport& node) {
  const ImportedValue value = node.AnySourceAt(0);
  const std::vector<std::int64_t> repeats = IntsOf(node.ConstantAt(1));
  if (repeats.size() != static_cast<std::size_t>(value.shape.rank())) {
    throw UnsupportedNode(fmt::format("{} repeats of {}", repeats.size(), value.shape.ToString()));
  }
  std::vector<SliceAxis> axes = WholeAxes(value.shape);
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0 || __builtin_mul_overflow(axes[d].extent, repeats[d], &axes[d].extent)) {
      throw UnsupportedNode(fmt::format("{} repeats", repeats[d]));
    }
  }
  node.Produce(AddSlice(node, value, std::move(axes), SliceBorder::kWrap, 0));
}

void ImportExpand(NodeImport& node) {
  ImportedValue value = node.AnySourceAt(0);
  std::vector<std::int64_t> wanted = IntsOf(node.ConstantAt(1));
  constexpr std::size_t kMaxDimensions = 12;
  if (wanted.size() > kMaxDimensions) {
    throw UnsupportedNode(fmt::format("{} dimensions", wanted.size()));
  }
  const auto rank = std::max(wanted.size(), static_cast<std::size_t>(value.shape.rank()));
  std::vector<std::int64_t> extents(rank - static_cast<std::size_t>(value.shape.rank()), 1);
  extents.insert(extents.end(), value.shape.extents().begin(), value.shape.extents().end());
  wanted.insert(wanted.begin(), rank - wanted.size(), 1);
  std::vector<SliceAxis> axes;
  for (std::size_t d = 0; d < rank; ++d) {
    if (extents[d] != wanted[d] && extents[d] != 1 && wanted[d] != 1) {
      throw UnsupportedNode(
          fmt::format("{} expanded to [{}]", value.shape.ToString(), fmt::join(wanted, ", ")));
    }
    const bool repeats = extents[d] == 1;
    axes.push_back({0, repeats ? 0 : 1, repeats ? wanted[d] : extents[d]});
    if (axes.back().extent == 1) axes.back().step = 1;
  }
  value.shape = Shape(std::move(extents));
  node.Produce(AddSlice(node, value, std::move(axes), SliceBorder::kNone, 0));
}

// Reshapes (N, C, H, W) to six dimensions, moves them, and reshapes them again.
void MoveBlocks(NodeImport& node, Shape six, const std::vector<int>& order, Shape result) {
  ImportedValue value = node.AnySourceAt(0);
  value.shape = std::move(six);
  const ValueId source = node.Plain(value);
  const auto op = std::make_shared<TransposeOp>(node.ShapeOf(source), order);
  node.Produce({node.AddLayer(op, {source}), std::move(result), {}, {}, value.type});
}

std::int64_t BlockOf(const NodeImport& node, const Shape& image) {
  const std::int64_t block = node.node().Int("blocksize", 0);
  if (image.rank() != 4 || block < 1 || block > image.elements()) {
    throw UnsupportedNode(fmt::format("blocks of {} of {}", block, image.ToString()));
  }
  return block;
}

void ImportDepthToSpace(NodeImport& node) {
  const Shape image = node.AnySourceAt(0).shape;
  const std::int64_t b = BlockOf(node, image);
  const std::string mode = node.node().String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") throw UnsupportedNode("mode " + Printable(mode));
  if (image[1] % b != 0 || image[1] / b % b != 0) {
    throw UnsupportedNode(fmt::format("{} channels in blocks of {}", image[1], b));
  }
  const std::int64_t c = image[1] / b / b;
  const Shape result{image[0], c, image[2] * b, image[3] * b};
  if (mode == "DCR") {
    MoveBlocks(node, {image[0], b, b, c, image[2], image[3]}, {0, 3, 4, 1, 5, 2}, result);
  } else {
    MoveBlocks(node, {image[0], c, b, b, image[2], image[3]}, {0, 1, 4, 2, 5, 3}, result);
  }
}

void ImportSpaceToDepth(NodeImport& node) {
  const Shape image = node.AnySourceAt(0).shape;
  const std::int64_t b = BlockOf(node, image);
  if (image[2] % b != 0 || image[3] % b != 0) {
    throw UnsupportedNode(fmt::format("{} in blocks of {}", image.ToString(), b));
  }
  MoveBlocks(node, {image[0], image[1], image[2] / b, b, image[3] / b, b}, {0, 3, 5, 1, 2, 4},
             {image[0], image[1] * b * b, image[2] / b, image[3] / b});
}

const NodeRegistration kDepthToSpace("DepthToSpace", ImportDepthToSpace);
const NodeRegistration kExpand("Expand", ImportExpand);
const NodeRegistration kSlice("Slice", ImportSlice);
const NodeRegistration kSpaceToDepth("SpaceToDepth", ImportSpaceToDepth);
const NodeRegistration kSplit("Split", ImportSplit);
const NodeRegistration kTile("Tile", ImportTile);

}  // namespace

}  // namespace topdnn
