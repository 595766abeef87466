// Resize, and Upsample of older opsets.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/interpolate/interpolate.h"
#include "networks/onnx/import/node_import.h"

namespace topdnn {

namespace {

template <typename Value>
Value NamedValueOf(const NodeImport& node, const std::string& attribute,
                   const std::string& otherwise, const std::map<std::string, Value>& values) {
  const std::string name = node.node().String(attribute, otherwise);
  const auto found = values.find(name);
  if (found == values.end()) {
    throw UnsupportedNode(fmt::format("{} {}", attribute, Printable(name)));
  }
  return found->second;
}

// Before opset 11 neither coordinates nor rounding are attributes: an index is divided by the
// scale, and rounded down.
bool IsOld(const NodeImport& node) {
  return node.opset() < 11 || node.node().op_type == "Upsample";
}

InterpolateSettings SettingsOf(const NodeImport& node) {
  const ModelNode& attributes = node.node();
  if (attributes.Int("antialias", 0) != 0) throw UnsupportedNode("antialias");
  InterpolateSettings settings;
  settings.interpolation = NamedValueOf<Interpolation>(node, "mode", "nearest",
                                                       {{"nearest", Interpolation::kNearest},
                                                        {"linear", Interpolation::kLinear},
                                                        {"cubic", Interpolation::kCubic}});
  if (IsOld(node)) {
    if (settings.interpolation == Interpolation::kCubic) {
      throw UnsupportedNode("mode cubic before opset 11");
    }
    settings.coordinates = Coordinates::kAsymmetric;
    settings.rounding = NearestRounding::kFloor;
    return settings;
  }
  std::map<std::string, Coordinates> coordinates = {
      {"half_pixel", Coordinates::kHalfPixel},
      {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
      {"align_corners", Coordinates::kAlignCorners},
      {"asymmetric", Coordinates::kAsymmetric}};
  constexpr std::int64_t kWithoutTfHalfPixel = 13;
  if (node.opset() < kWithoutTfHalfPixel) {
    coordinates["tf_half_pixel_for_nn"] = Coordinates::kTfHalfPixel;
  }
  constexpr std::int64_t kWithSymmetric = 19;
  if (node.opset() >= kWithSymmetric) {
    coordinates["half_pixel_symmetric"] = Coordinates::kHalfPixelSymmetric;
  }
  settings.coordinates =
      NamedValueOf(node, "coordinate_transformation_mode", "half_pixel", coordinates);
  settings.rounding =
      NamedValueOf<NearestRounding>(node, "nearest_mode", "round_prefer_floor",
                                    {{"round_prefer_floor", NearestRounding::kPreferFloor},
                                     {"round_prefer_ceil", NearestRounding::kPreferCeil},
                                     {"floor", NearestRounding::kFloor},
                                     {"ceil", NearestRounding::kCeil}});
  settings.cubic_a = attributes.Float("cubic_coeff_a", settings.cubic_a);
  settings.exclude_outside = attributes.Int("exclude_outside", 0) != 0;
  return settings;
}

// The result's shape, and the scale of each dimension.
struct Resizing {
  std::vector<std::int64_t> extents;
  std::vector<double> scales;
};

// The scales, or nothing when the node gives sizes.
std::vector<double> ScalesOf(const NodeImport& node) {
  const auto& attributes = node.node().attributes;
  if (const auto scales = attributes.find("scales"); scales != attributes.end()) {
    return {scales->second.floats.begin(), scales->second.floats.end()};  // Upsample before opset 9
  }
  constexpr std::size_t kSizesInput = 3;
  if (!IsOld(node) && node.Has(kSizesInput)) return {};
  return ValuesOf(node.ConstantAt(IsOld(node) ? 1 : 2));
}

// ONNX rounds the product of extent and scale down, and computes it in f32. Scales that are not
// exact, such as 0.7, must not lead to another extent.
std::int64_t ScaledExtent(std::int64_t extent, float scale) {
  constexpr float kMaxExtent = 1 << 30;
  const float product = static_cast<float>(extent) * scale;
  if (!(scale > 0 && product >= 1 && product <= kMaxExtent)) {
    throw UnsupportedNode(fmt::format("a scale of {} for an extent of {}", scale, extent));
  }
  return static_cast<std::int64_t>(std::floor(product));
}

// Since opset 18 the sizes may be limits: all axes then get the smallest or the largest of their
// scales.
void KeepAspectRatio(const NodeImport& node, const Shape& src, const std::vector<int>& axes,
                     Resizing& resizing) {
  const std::string policy = node.node().String("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || axes.empty()) return;
  if (policy != "not_larger" && policy != "not_smaller") {
    throw UnsupportedNode(fmt::format("keep_aspect_ratio_policy {}", Printable(policy)));
  }
  double scale = resizing.scales[static_cast<std::size_t>(axes.front())];
  for (const int axis : axes) {
    const double other = resizing.scales[static_cast<std::size_t>(axis)];
    scale = policy == "not_larger" ? std::min(scale, other) : std::max(scale, other);
  }
  for (const int axis : axes) {
    constexpr double kMaxExtent = 1 << 30;
    const double extent = std::floor(static_cast<double>(src[axis]) * scale + 0.5);
    if (!(extent >= 1 && extent <= kMaxExtent)) {
      throw UnsupportedNode(fmt::format("a scale of {} for an extent of {}", scale, src[axis]));
    }
    resizing.extents[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(extent);
    resizing.scales[static_cast<std::size_t>(axis)] = scale;
  }
}

// Since opset 18 a node may name the axes that its scales or sizes are for.
Resizing ResizingOf(const NodeImport& node, const Shape& src) {
  std::vector<int> axes(static_cast<std::size_t>(src.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (node.opset() >= 18 && node.node().Has("axes")) {
    axes = node.Axes(node.inputs(), "axes", src.rank());
  }
  Resizing resizing{src.extents(), std::vector<double>(static_cast<std::size_t>(src.rank()), 1.0)};
  const std::vector<double> scales = ScalesOf(node);
  auto sizes = scales.empty() ? IntsOf(node.ConstantAt(3)) : std::vector<std::int64_t>();
  if (std::max(scales.size(), sizes.size()) != axes.size()) {
    throw UnsupportedNode(fmt::format("it needs {} scales or sizes", axes.size()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(axes[i]);
    const std::int64_t extent = src[axes[i]];
    if (scales.empty()) {
      // The file's own batch among the sizes stands for the batch that is imported.
      const ValueOfFileBatch* of_file = d == 0 ? node.OfFileBatch(0) : nullptr;
      const bool is_batch = of_file != nullptr && of_file->shape.rank() == src.rank() &&
                            of_file->shape[0] == sizes[i];
      if (is_batch) sizes[i] = extent;
      resizing.extents[d] = sizes[i];
      resizing.scales[d] = static_cast<double>(sizes[i]) / static_cast<double>(extent);
    } else {
      resizing.scales[d] = scales[i];
      resizing.extents[d] = ScaledExtent(extent, static_cast<float>(scales[i]));
    }
  }
  if (scales.empty()) KeepAspectRatio(node, src, axes, resizing);
  return resizing;
}

// Refuses what programs and ONNX's versions compute in different ways.
void CheckUnambiguous(const NodeImport& node, const Shape& src, const Resizing& resizing,
                      const InterpolateSettings& settings) {
  for (int d = 0; d < src.rank(); ++d) {
    const double scale = resizing.scales[static_cast<std::size_t>(d)];
    const float product = static_cast<float>(src[d]) * static_cast<float>(scale);
    if (settings.coordinates == Coordinates::kAlignCorners && node.Has(2) && !node.Has(3) &&
        product != std::floor(product)) {
      throw UnsupportedNode(fmt::format(
          "align_corners with a scale of {} for {} elements: ONNX aligns the corners of {} "
          "elements, and programs those of the result; export it with sizes",
          scale, src[d], product));
    }
    if (IsOld(node) && settings.interpolation == Interpolation::kNearest && scale < 1) {
      throw UnsupportedNode(
          fmt::format("a scale of {} before opset 11, which does not define the rounding", scale));
    }
  }
}

void ImportResize(NodeImport& node) {
  const InterpolateSettings settings = SettingsOf(node);
  const ValueId source = node.Plain(node.SourceAt(0));
  const Shape src = node.ShapeOf(source);
  Resizing resizing = ResizingOf(node, src);
  CheckUnambiguous(node, src, resizing, settings);
  auto op = std::make_shared<InterpolateOp>(src, Shape(std::move(resizing.extents)),
                                            std::move(resizing.scales), settings);
  const ValueId result = node.AddLayer(std::move(op), {source});
  node.Produce({result, node.ShapeOf(result)});
}

const NodeRegistration kResize("Resize", ImportResize);
const NodeRegistration kUpsample("Upsample", ImportResize);

}  // namespace

}  // namespace topdnn
