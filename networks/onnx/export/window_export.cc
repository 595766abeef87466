// Writes convolutions, transposed convolutions and poolings over any number of spatial axes.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/conv_nd/conv_nd.h"
#include "kernels/conv_transpose/conv_transpose.h"
#include "kernels/pool_nd/pool_nd.h"
#include "networks/onnx/export/node_export.h"

namespace topdnn {

namespace {

void SetAxes(onnx::NodeProto& node, const std::vector<SpatialAxis>& axes) {
  const auto numbers = [&](std::int64_t SpatialAxis::*field) {
    std::vector<std::int64_t> values;
    values.reserve(axes.size());
    for (const SpatialAxis& axis : axes) values.push_back(axis.*field);
    return values;
  };
  SetInts(node, "kernel_shape", numbers(&SpatialAxis::kernel));
  SetInts(node, "strides", numbers(&SpatialAxis::stride));
  std::vector<std::int64_t> pads = numbers(&SpatialAxis::pad_before);
  const std::vector<std::int64_t> after = numbers(&SpatialAxis::pad_after);
  pads.insert(pads.end(), after.begin(), after.end());
  SetInts(node, "pads", pads);
  const std::vector<std::int64_t> dilations = numbers(&SpatialAxis::dilation);
  if (dilations != std::vector<std::int64_t>(axes.size(), 1)) {
    SetInts(node, "dilations", dilations);
  }
}

void WriteConvNd(NodeExport& layer) {
  const auto& op = layer.OpAs<ConvNdOp>();
  std::vector<std::string> inputs = layer.Sources();
  inputs.push_back(layer.AddParameter("weights", op.weights_shape()));
  onnx::NodeProto& node = layer.AddNode("Conv", inputs);
  SetAxes(node, op.extents().axes);
  SetInt(node, "group", op.extents().groups);
}

void WriteConvTranspose(NodeExport& layer) {
  const auto& op = layer.OpAs<ConvTransposeOp>();
  std::vector<std::string> inputs = layer.Sources();
  inputs.push_back(layer.AddParameter("weights", op.Parameters().front().shape));
  onnx::NodeProto& node = layer.AddNode("ConvTranspose", inputs);
  SetAxes(node, op.extents().axes);
  SetInt(node, "group", op.extents().groups);
  std::vector<std::int64_t> beyond;  // elements after the last window
  for (const SpatialAxis& axis : op.extents().axes) {
    beyond.push_back(axis.extent + axis.pad_after - axis.Start(axis.outputs() - 1) - axis.reach());
  }
  SetInts(node, "output_padding", beyond);
}

void WritePoolNd(NodeExport& layer) {
  const auto& op = layer.OpAs<PoolNdOp>();
  const PoolNdExtents& e = op.extents();
  const bool max = op.algorithm() == PoolNdAlgorithm::kMax;
  const bool norm = op.algorithm() == PoolNdAlgorithm::kLp;
  const bool dilated = std::any_of(e.axes.begin(), e.axes.end(),
                                   [](const SpatialAxis& axis) { return axis.dilation != 1; });
  if ((!max && dilated) || (norm && e.ceil_mode)) {
    throw std::invalid_argument(
        "before opset 18 only a MaxPool has dilations, and no LpPool has "
        "ceil_mode");
  }
  onnx::NodeProto& node = layer.AddNode(max    ? "MaxPool"
                                        : norm ? "LpPool"
                                               : "AveragePool",
                                        layer.Sources());
  SetAxes(node, e.axes);
  if (e.ceil_mode) SetInt(node, "ceil_mode", 1);
  if (norm) SetInt(node, "p", e.p);
  if (op.algorithm() == PoolNdAlgorithm::kAverageOfPadding) SetInt(node, "count_include_pad", 1);
}

const NodeWriterRegistration kWriteConvNd("conv_nd", WriteConvNd);
const NodeWriterRegistration kWriteConvTranspose("conv_transpose", WriteConvTranspose);
const NodeWriterRegistration kWritePoolNd("pool_nd", WritePoolNd);

}  // namespace

}  // namespace topdnn
