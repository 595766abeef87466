// Resize, and Upsample of older opsets, to the nearest pixel by whole factors.

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "kernels/resize/resize.h"
#include "networks/onnx/node_import.h"

namespace topdnn {

namespace {

// Accepts the two modes that are the same for whole factors (see kernels/resize/resize.h). Opset 10
// has only one of them.
void CheckRounding(const NodeImport& node) {
  if (node.opset() < 11 || node.node().op_type == "Upsample") return;
  const std::string mode = node.node().String("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = node.node().String("nearest_mode", "round_prefer_floor");
  if ((mode == "asymmetric" && nearest == "floor") ||
      (mode == "half_pixel" && nearest == "round_prefer_floor")) {
    return;
  }
  throw UnsupportedNode(fmt::format("{} with {}", Printable(mode), Printable(nearest)));
}

// The factor of each dimension, from the scales or the sizes. Since opset 18 a node may name the
// axes that these are for.
std::vector<double> Factors(const NodeImport& node, const Shape& image) {
  const std::size_t scales_input = node.opset() < 11 || node.node().op_type == "Upsample" ? 1 : 2;
  constexpr std::size_t kSizesInput = 3;
  std::vector<int> axes = {0, 1, 2, 3};
  if (node.opset() >= 18 && node.node().Has("axes")) axes = node.Axes(node.inputs(), "axes", 4);
  std::vector<double> given;
  if (node.opset() >= 11 && node.Has(kSizesInput)) {
    const auto sizes = IntsOf(node.ConstantAt(kSizesInput));
    for (std::size_t i = 0; i < sizes.size() && i < axes.size(); ++i) {
      given.push_back(static_cast<double>(sizes[i]) / static_cast<double>(image[axes[i]]));
    }
    if (sizes.size() != axes.size()) given.clear();
  } else if (const auto scales = node.node().attributes.find("scales");
             scales != node.node().attributes.end()) {  // Upsample before opset 9
    given.assign(scales->second.floats.begin(), scales->second.floats.end());
  } else {
    given = ValuesOf(node.ConstantAt(scales_input));
  }
  if (given.size() != axes.size()) {
    throw UnsupportedNode(fmt::format("it needs {} scales or sizes", axes.size()));
  }
  std::vector<double> factors(4, 1.0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    factors[static_cast<std::size_t>(axes[i])] = given[i];
  }
  return factors;
}

void ImportResize(NodeImport& node) {
  if (const std::string mode = node.node().String("mode", "nearest"); mode != "nearest") {
    throw UnsupportedNode(fmt::format("mode {}", Printable(mode)));
  }
  CheckRounding(node);
  if (const std::string policy = node.node().String("keep_aspect_ratio_policy", "stretch");
      policy != "stretch") {
    throw UnsupportedNode(fmt::format("keep_aspect_ratio_policy {}", Printable(policy)));
  }
  const ValueId source = node.Plain(node.SourceAt(0));
  const Shape image = node.ShapeOf(source);
  if (image.rank() != 4) throw UnsupportedNode(fmt::format("of {}", image.ToString()));
  const std::vector<double> factors = Factors(node, image);
  constexpr double kMaxFactor = 1 << 20;
  for (std::size_t d = 0; d < 4; ++d) {
    const bool whole = factors[d] >= 1 && factors[d] <= (d < 2 ? 1 : kMaxFactor) &&
                       factors[d] == std::floor(factors[d]);
    if (!whole) throw UnsupportedNode(fmt::format("a factor of {}", factors[d]));
  }
  const auto op = std::make_shared<ResizeOp>(image, static_cast<std::int64_t>(factors[2]),
                                             static_cast<std::int64_t>(factors[3]));
  const ValueId result = node.AddLayer(op, {source});
  node.Produce({result, node.ShapeOf(result)});
}

const NodeRegistration kResize("Resize", ImportResize);
const NodeRegistration kUpsample("Upsample", ImportResize);

}  // namespace

}  // namespace topdnn
