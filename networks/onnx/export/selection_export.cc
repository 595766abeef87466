// The ONNX nodes of TopK and Gather.

#include <cstdint>
#include <string>

#include "kernels/gather/gather.h"
#include "kernels/topk/topk.h"
#include "networks/onnx/export/node_export.h"

namespace topdnn {

namespace {

void WriteTopK(NodeExport& layer) {
  const TopKSettings& settings = layer.OpAs<TopKOp>().settings();
  const std::string k = layer.AddInts("k", {settings.k});
  onnx::NodeProto& node = layer.AddNode("TopK", {layer.Sources().front(), k});
  SetInt(node, "axis", settings.axis);
  SetInt(node, "largest", settings.largest ? 1 : 0);
  const std::string first = node.output(0);
  if (settings.indices) {
    node.set_output(0, layer.NewName(first + "_values"));
    node.add_output(first);
    SetInt(layer.AddNode("Cast", {first}, "real"), "to", onnx::TensorProto::FLOAT);
  } else {
    node.add_output(layer.NewName(first + "_indices"));
  }
}

void WriteGather(NodeExport& layer) {
  const auto& op = layer.OpAs<GatherOp>();
  std::string indices = op.constant() ? layer.AddParameter("indices", Shape{op.extents().count})
                                      : layer.Sources().back();
  onnx::NodeProto& cast = layer.AddNode("Cast", {indices}, "indices");
  SetInt(cast, "to", onnx::TensorProto::INT64);
  const std::string whole = cast.output(0);
  SetInt(layer.AddNode("Gather", {layer.Sources().front(), whole}), "axis", 1);
}

const NodeWriterRegistration kWriteGather("gather", WriteGather);
const NodeWriterRegistration kWriteTopK("topk", WriteTopK);

}  // namespace

}  // namespace topdnn
