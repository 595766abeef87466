#include "networks/onnx/export/exporter.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>
#include <vector>

#include "networks/onnx/export/node_export.h"

namespace topdnn {

namespace {

// ONNX 1.8, which introduced opset 13. Readers of that time accept no newer version.
constexpr std::int64_t kIrVersion = 7;

// Whether the first extent may be the number of images.
bool CountsImages(const Shape& shape, const Shape& images) {
  return shape.rank() > 0 && shape[0] == images[0];
}

// Whether an input has a row for each image. A guess: beside one image, a tensor of one element and
// of another rank is a number that applies to any number of images.
bool HasRows(const Shape& shape, const Shape& images) {
  const bool is_number = shape.elements() == 1 && shape.rank() != images.rank();
  return CountsImages(shape, images) && !is_number;
}

// Describes an f32 tensor, whose first extent may be open.
void Describe(onnx::ValueInfoProto& value, const std::string& name, const Shape& shape, bool open) {
  value.set_name(name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape();
  for (int d = 0; d < shape.rank(); ++d) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (d == 0 && open) {
      dim.set_dim_param("N");
    } else {
      dim.set_dim_value(shape[d]);
    }
  }
}

}  // namespace

std::string ExportOnnx(const Graph& graph, const ParameterValues& values,
                       const WeightScales& scales) {
  CheckParameters(graph, values);
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("topdnn");
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(kExportedOpset);
  onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name(graph.name());
  std::vector<std::string> names(graph.values().size());
  std::set<std::string> used_names = {"output"};
  for (ValueId input = 0; input < graph.inputs(); ++input) {
    const auto at = static_cast<std::size_t>(input);
    names[at] = graph.values()[at].name;
    used_names.insert(names[at]);
    Describe(*proto.add_input(), names[at], graph.shape(input),
             HasRows(graph.shape(input), graph.shape(0)));
  }
  for (const GraphNode& layer : graph.nodes()) {
    const NodeWriter* write = FindWriter(layer.op->kind());
    if (write == nullptr) {
      throw OnnxError(fmt::format("layer {} ({}) has no counterpart in ONNX's opset {}", layer.name,
                                  layer.op->kind(), kExportedOpset));
    }
    NodeExport work(graph, layer, {values, scales}, names, used_names, proto);
    try {
      (*write)(work);
      work.Finish();
    } catch (const std::invalid_argument& error) {
      throw OnnxError(fmt::format("layer {} ({}) cannot be exported to ONNX: {}", layer.name,
                                  layer.op->kind(), error.what()));
    }
  }
  std::set<ValueId> described;
  for (const ValueId output : graph.outputs()) {
    if (!described.insert(output).second) continue;
    Describe(*proto.add_output(), names[static_cast<std::size_t>(output)], graph.shape(output),
             CountsImages(graph.shape(output), graph.shape(0)));
  }
  std::string bytes;
  if (!model.SerializeToString(&bytes)) {
    throw OnnxError(fmt::format("{} is larger than the 2 GiB of an ONNX file", graph.name()));
  }
  return bytes;
}

}  // namespace topdnn
