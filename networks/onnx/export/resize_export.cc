// Writes interpolations.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/interpolate/interpolate.h"
#include "networks/onnx/export/node_export.h"

namespace topdnn {

namespace {

// Whether the scales are the quotients of the extents, as for a node with sizes.
bool FollowFromShapes(const InterpolateOp& op) {
  for (int d = 0; d < op.src_shape().rank(); ++d) {
    const double quotient =
        static_cast<double>(op.dst_shape()[d]) / static_cast<double>(op.src_shape()[d]);
    if (op.scales()[static_cast<std::size_t>(d)] != quotient) return false;
  }
  return true;
}

// The name of the result's extents. A first extent that stays is read from the source's shape, so
// that the file takes any number of images.
std::string AddSizes(NodeExport& layer, const InterpolateOp& op) {
  std::vector<std::int64_t> extents = op.dst_shape().extents();
  if (extents.front() != op.src_shape()[0]) return layer.AddInts("sizes", extents);
  extents.erase(extents.begin());
  const std::string shape = layer.AddNode("Shape", layer.Sources(), "shape").output(0);
  const std::string first = layer.AddInts("first", {0});
  const std::string batch = layer.AddNode("Gather", {shape, first}, "batch").output(0);
  const std::string rest = layer.AddInts("rest", extents);
  onnx::NodeProto& sizes = layer.AddNode("Concat", {batch, rest}, "sizes");
  SetInt(sizes, "axis", 0);
  return sizes.output(0);
}

void WriteInterpolate(NodeExport& layer) {
  static const char* const kModes[] = {"nearest", "linear", "cubic"};
  static const char* const kCoordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                             "asymmetric"};
  static const char* const kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                           "ceil"};
  const auto& op = layer.OpAs<InterpolateOp>();
  const InterpolateSettings& settings = op.settings();
  if (static_cast<std::size_t>(settings.coordinates) >= std::size(kCoordinates)) {
    throw std::invalid_argument(
        "opset 13 has neither tf_half_pixel_for_nn nor "
        "half_pixel_symmetric");
  }
  std::vector<std::string> inputs = {layer.Sources().front(), ""};
  // Whole scales are exact in f32, and give a simpler file.
  const bool whole = std::all_of(op.scales().begin(), op.scales().end(),
                                 [](double scale) { return scale == std::floor(scale); });
  if (!whole && FollowFromShapes(op)) {
    inputs.insert(inputs.end(), {"", AddSizes(layer, op)});
  } else {
    const std::vector<float> scales(op.scales().begin(), op.scales().end());
    for (int d = 0; d < op.src_shape().rank(); ++d) {
      const double extent = std::floor(static_cast<double>(op.src_shape()[d]) *
                                       static_cast<double>(scales[static_cast<std::size_t>(d)]));
      if (extent == static_cast<double>(op.dst_shape()[d])) continue;
      throw std::invalid_argument(fmt::format(
          "a Resize of opset 13 by {} gives {} of {} elements, not {}",
          scales[static_cast<std::size_t>(d)], extent, op.src_shape()[d], op.dst_shape()[d]));
    }
    inputs.push_back(
        layer.AddFloats("scales", Shape{static_cast<std::int64_t>(scales.size())}, scales.data()));
  }
  onnx::NodeProto& node = layer.AddNode("Resize", inputs);
  SetString(node, "mode", kModes[static_cast<std::size_t>(settings.interpolation)]);
  SetString(node, "coordinate_transformation_mode",
            kCoordinates[static_cast<std::size_t>(settings.coordinates)]);
  SetString(node, "nearest_mode", kRoundings[static_cast<std::size_t>(settings.rounding)]);
  SetFloat(node, "cubic_coeff_a", settings.cubic_a);
  SetInt(node, "exclude_outside", settings.exclude_outside ? 1 : 0);
}

const NodeWriterRegistration kWriteInterpolate("interpolate", WriteInterpolate);

}  // namespace

}  // namespace topdnn
