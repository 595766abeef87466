#include "networks/onnx/export/node_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/bias/bias.h"
#include "kernels/concat/concat.h"
#include "kernels/conv/conv.h"
#include "kernels/dropout/dropout.h"
#include "kernels/eltwise/add.h"
#include "kernels/eltwise/binary.h"
#include "kernels/flatten/flatten.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/lrn/lrn.h"
#include "kernels/matmul/matmul.h"
#include "kernels/op/registrations.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/slice/slice.h"
#include "kernels/transpose/transpose.h"
#include "networks/onnx/export/exporter.h"

namespace topdnn {

namespace {

constinit Registrations<std::string, NodeWriter> writers("writer of ONNX nodes for");

// Fields that ConvExtents and PoolExtents have in common.
template <typename Extents>
void SetWindow(onnx::NodeProto& node, const Extents& e) {
  SetInts(node, "kernel_shape", {e.r, e.s});
  SetInts(node, "strides", {e.stride_h, e.stride_w});
  SetInts(node, "pads", {e.pad_top, e.pad_left, e.pad_bottom, e.pad_right});
}

// `part` as in NodeExport::AddNode.
void AddClip(NodeExport& layer, const std::string& input, float lowest, float highest,
             std::string_view part = {}) {
  const std::string min = layer.AddFloats("min", {}, &lowest);
  layer.AddNode("Clip", {input, min, layer.AddFloats("max", {}, &highest)}, part);
}

// A ReLU that is fused into the operation becomes a separate node.
void AddFusedRelu(NodeExport& layer, const onnx::NodeProto& node) {
  const std::optional<float> bound = layer.OpAs<Op>().Traits().final_relu_bound;
  if (bound && *bound != 0) {
    AddClip(layer, node.output(0), 0.0F, *bound, "relu");
  } else if (bound) {
    layer.AddNode("Relu", {node.output(0)}, "relu");
  }
}

void WriteConv(NodeExport& layer) {
  const auto& op = layer.OpAs<ConvOp>();
  const ConvExtents& e = op.extents();
  if (op.epilogue().sum) throw std::invalid_argument("a convolution with a fused addition");
  if (op.epilogue().function != nullptr) {
    throw std::invalid_argument("a convolution with a fused function");
  }
  std::vector<std::string> inputs = layer.Sources();
  inputs.push_back(layer.AddParameter("weights", {e.k, e.c / e.groups, e.r, e.s}));
  if (op.epilogue().bias) inputs.push_back(layer.AddParameter("bias", {e.k}));
  onnx::NodeProto& node = layer.AddNode("Conv", inputs);
  SetWindow(node, e);
  SetInts(node, "dilations", {e.dilation_h, e.dilation_w});
  SetInt(node, "group", e.groups);
  AddFusedRelu(layer, node);
}

void WritePool(NodeExport& layer) {
  const auto& op = layer.OpAs<PoolOp>();
  const PoolExtents& e = op.extents();
  const bool max = op.algorithm() == PoolAlgorithm::kMax;
  if (e == PoolExtents::Global(e.n, e.c, e.h, e.w)) {
    layer.AddNode(max ? "GlobalMaxPool" : "GlobalAveragePool", layer.Sources());
  } else {
    onnx::NodeProto& node = layer.AddNode(max ? "MaxPool" : "AveragePool", layer.Sources());
    SetWindow(node, e);
    if (e.ceil_mode) SetInt(node, "ceil_mode", 1);
    if (!max) {
      SetInt(node, "count_include_pad", op.algorithm() == PoolAlgorithm::kAverageOfPadding ? 1 : 0);
    }
  }
}

void WriteInnerProduct(NodeExport& layer) {
  const auto& op = layer.OpAs<InnerProductOp>();
  std::vector<std::string> inputs = layer.Sources();
  if (op.src_shape().rank() > 2) {
    onnx::NodeProto& flatten = layer.AddNode("Flatten", inputs, "flatten");
    SetInt(flatten, "axis", 1);
    inputs = {flatten.output(0)};
  }
  inputs.push_back(layer.AddParameter("weights", {op.outputs(), op.inputs()}));
  if (op.epilogue().bias) inputs.push_back(layer.AddParameter("bias", {op.outputs()}));
  onnx::NodeProto& node = layer.AddNode("Gemm", inputs);
  SetInt(node, "transB", 1);
  AddFusedRelu(layer, node);
}

void WriteBatchNorm(NodeExport& layer) {
  const auto& op = layer.OpAs<BatchNormOp>();
  std::vector<std::string> inputs = layer.Sources();
  const Shape channels{op.channels()};
  inputs.push_back(layer.AddParameter("scale", channels));
  inputs.push_back(layer.AddParameter("shift", channels));
  inputs.push_back(layer.AddParameter("mean", channels, 0.0F));
  inputs.push_back(layer.AddParameter("variance", channels, 1.0F));
  onnx::NodeProto& node = layer.AddNode("BatchNormalization", inputs);
  SetFloat(node, "epsilon", op.epsilon());
  AddFusedRelu(layer, node);
}

void WriteLrn(NodeExport& layer) {
  const LrnSettings& settings = layer.OpAs<LrnOp>().settings();
  onnx::NodeProto& node = layer.AddNode("LRN", layer.Sources());
  SetInt(node, "size", settings.size);
  SetFloat(node, "alpha", settings.alpha);
  SetFloat(node, "beta", settings.beta);
  SetFloat(node, "bias", settings.k);
}

void WriteSoftmax(NodeExport& layer) {
  SetInt(layer.AddNode("Softmax", layer.Sources()), "axis", -1);
}

void WriteRelu(NodeExport& layer) {
  const float bound = layer.OpAs<ReluOp>().bound();
  if (bound != 0) return AddClip(layer, layer.Sources().front(), 0.0F, bound);
  layer.AddNode("Relu", layer.Sources());
}

void WriteClip(NodeExport& layer) {
  const auto& op = layer.OpAs<ClipOp>();
  AddClip(layer, layer.Sources().front(), op.lowest(), op.highest());
}

void WriteAdd(NodeExport& layer) {
  const auto& op = layer.OpAs<AddOp>();
  onnx::NodeProto& node = layer.AddNode(op.sources() == 2 ? "Add" : "Sum", layer.Sources());
  AddFusedRelu(layer, node);
}

void WriteBias(NodeExport& layer) {
  const auto& op = layer.OpAs<BiasOp>();
  const std::string bias = layer.AddParameter("bias", {op.channels()});
  // (C, 1, 1) aligns with the channels of (N, C, H, W).
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(op.shape().rank() - 2), 1);
  std::vector<std::int64_t> extents = {op.channels()};
  extents.insert(extents.end(), ones.begin(), ones.end());
  const onnx::NodeProto& reshape =
      layer.AddNode("Reshape", {bias, layer.AddInts("shape", extents)}, "reshape");
  layer.AddNode("Add", {layer.Sources().front(), reshape.output(0)});
}

void WriteConcat(NodeExport& layer) {
  SetInt(layer.AddNode("Concat", layer.Sources()), "axis", layer.OpAs<ConcatOp>().axis());
}

// The extents of a Reshape to `shape`. If possible, the first one is open, so that the file takes
// any number of images: 0 is the source's extent, and -1 is what the other extents leave. A softmax
// works on a matrix, which may have several rows for each image.
std::vector<std::int64_t> ReshapeExtents(const NodeExport& layer, const Shape& shape) {
  const std::int64_t from = layer.source_shape()[0], to = shape[0], images = layer.images();
  const bool has_images =
      (from == images && to % images == 0) || (to == images && from % images == 0);
  std::vector<std::int64_t> extents = shape.extents();
  if (from == to) {
    extents[0] = 0;
  } else if (has_images && layer.IsNextTo("softmax")) {
    extents[0] = -1;
  }
  return extents;
}

void WriteFlatten(NodeExport& layer) {
  const Shape& shape = layer.OpAs<FlattenOp>().dst_shape();
  std::vector<std::string> inputs = layer.Sources();
  if (shape == FlattenOp(layer.OpAs<FlattenOp>().src_shape()).dst_shape()) {
    SetInt(layer.AddNode("Flatten", inputs), "axis", 1);
  } else {
    inputs.push_back(layer.AddInts("shape", ReshapeExtents(layer, shape)));
    layer.AddNode("Reshape", inputs);
  }
}

void WriteDropout(NodeExport& layer) {
  const auto& op = layer.OpAs<DropoutOp>();
  if (op.rows()) {  // ONNX has no stochastic depth, which changes nothing in inference
    layer.AddNode("Identity", layer.Sources());
    return;
  }
  const float ratio = op.ratio();
  std::vector<std::string> inputs = layer.Sources();
  inputs.push_back(layer.AddFloats("ratio", {}, &ratio));
  SetInt(layer.AddNode("Dropout", inputs), "seed", op.seed());
}

void WriteReduce(NodeExport& layer) {
  const auto& op = layer.OpAs<ReduceOp>();
  std::vector<std::int64_t> axes;
  for (int d = 0; d < op.src_shape().rank(); ++d) {
    if (op.Reduces(d)) axes.push_back(d);
  }
  std::vector<std::string> inputs = layer.Sources();
  const bool sum = op.algorithm() == ReduceAlgorithm::kSum;
  if (sum) inputs.push_back(layer.AddInts("axes", axes));
  static const std::map<ReduceAlgorithm, std::string_view> op_types = {
      {ReduceAlgorithm::kSum, "ReduceSum"},       {ReduceAlgorithm::kMean, "ReduceMean"},
      {ReduceAlgorithm::kMax, "ReduceMax"},       {ReduceAlgorithm::kMin, "ReduceMin"},
      {ReduceAlgorithm::kProduct, "ReduceProd"},  {ReduceAlgorithm::kL1, "ReduceL1"},
      {ReduceAlgorithm::kL2, "ReduceL2"},         {ReduceAlgorithm::kSumSquare, "ReduceSumSquare"},
      {ReduceAlgorithm::kLogSum, "ReduceLogSum"}, {ReduceAlgorithm::kLogSumExp, "ReduceLogSumExp"}};
  onnx::NodeProto& node = layer.AddNode(op_types.at(op.algorithm()), inputs);
  if (!sum) SetInts(node, "axes", axes);
  SetInt(node, "keepdims", op.keep_dims() ? 1 : 0);
}

void WriteSigmoid(NodeExport& layer) { layer.AddNode("Sigmoid", layer.Sources()); }

void WriteHardSigmoid(NodeExport& layer) {
  const auto& op = layer.OpAs<HardSigmoidOp>();
  onnx::NodeProto& node = layer.AddNode("HardSigmoid", layer.Sources());
  SetFloat(node, "alpha", op.alpha());
  SetFloat(node, "beta", op.beta());
}

void WriteSlice(NodeExport& layer) {
  const auto& op = layer.OpAs<SliceOp>();
  std::vector<std::int64_t> starts, ends, steps, axes;
  for (int d = 0; d < op.src_shape().rank(); ++d) {
    const SliceAxis& axis = op.axes()[static_cast<std::size_t>(d)];
    if (op.border() != SliceBorder::kNone || axis.step < 1) {
      throw std::invalid_argument("topdnn exports slices with positive steps inside the tensor");
    }
    // Whole axes are left out, so that the number of images stays open. (one axis is needed)
    const bool whole = axis.start == 0 && axis.step == 1 && axis.extent == op.src_shape()[d];
    const bool last = d + 1 == op.src_shape().rank();
    if (whole && !(last && axes.empty())) continue;
    starts.push_back(axis.start);
    ends.push_back(axis.start + (axis.extent - 1) * axis.step + 1);
    axes.push_back(d);
    steps.push_back(axis.step);
  }
  layer.AddNode("Slice", {layer.Sources().front(), layer.AddInts("starts", starts),
                          layer.AddInts("ends", ends), layer.AddInts("axes", axes),
                          layer.AddInts("steps", steps)});
}

void WriteTranspose(NodeExport& layer) {
  const std::vector<int>& order = layer.OpAs<TransposeOp>().order();
  SetInts(layer.AddNode("Transpose", layer.Sources()), "perm", {order.begin(), order.end()});
}

// Of a BinaryOp or a MatMulOp, which may have one constant operand.
template <typename TwoOperands>
std::vector<std::string> SourcesWithConstant(NodeExport& layer, const TwoOperands& op) {
  std::vector<std::string> inputs = layer.Sources();
  if (op.constant() == BinaryConstant::kFirst) {
    inputs.insert(inputs.begin(), layer.AddParameter("constant", op.first()));
  } else if (op.constant() != BinaryConstant::kNone) {
    inputs.push_back(layer.AddParameter("constant", op.second()));
  }
  return inputs;
}

void WriteBinary(NodeExport& layer) {
  static const std::map<std::string_view, std::string_view> op_types = {
      {"add", "Add"}, {"div", "Div"}, {"fmod", "Mod"},    {"max", "Max"}, {"min", "Min"},
      {"mul", "Mul"}, {"pow", "Pow"}, {"prelu", "PRelu"}, {"sub", "Sub"}};
  // ONNX's results are booleans; the layer's results are 0 and 1 in floating point.
  static const std::map<std::string_view, std::string_view> comparisons = {
      {"equal", "Equal"},
      {"greater", "Greater"},
      {"greater_or_equal", "GreaterOrEqual"},
      {"less", "Less"},
      {"less_or_equal", "LessOrEqual"}};
  const auto& op = layer.OpAs<BinaryOp>();
  const auto comparison = comparisons.find(op.function().name);
  if (comparison == comparisons.end() && !op_types.contains(op.function().name)) {
    throw std::invalid_argument(fmt::format("ONNX has no operation {}", op.function().name));
  }
  const std::vector<std::string> inputs = SourcesWithConstant(layer, op);
  if (comparison != comparisons.end()) {
    const onnx::NodeProto& compared = layer.AddNode(comparison->second, inputs);
    SetInt(layer.AddNode("Cast", {compared.output(0)}, "real"), "to", onnx::TensorProto::FLOAT);
    return;
  }
  onnx::NodeProto& node = layer.AddNode(op_types.at(op.function().name), inputs);
  if (op.function().name == "fmod") SetInt(node, "fmod", 1);
}

void WriteMatMul(NodeExport& layer) {
  layer.AddNode("MatMul", SourcesWithConstant(layer, layer.OpAs<MatMulOp>()));
}

const NodeWriterRegistration kWriteAdd("add", WriteAdd);
const NodeWriterRegistration kWriteBatchnorm("batchnorm", WriteBatchNorm);
const NodeWriterRegistration kWriteBias("bias", WriteBias);
const NodeWriterRegistration kWriteBinary("binary", WriteBinary);
const NodeWriterRegistration kWriteBoundedRelu("bounded_relu", WriteRelu);
const NodeWriterRegistration kWriteClip("clip", WriteClip);
const NodeWriterRegistration kWriteConcat("concat", WriteConcat);
const NodeWriterRegistration kWriteConv("conv", WriteConv);
const NodeWriterRegistration kWriteDropout("dropout", WriteDropout);
const NodeWriterRegistration kWriteFlatten("flatten", WriteFlatten);
const NodeWriterRegistration kWriteInnerProduct("inner_product", WriteInnerProduct);
const NodeWriterRegistration kWriteLrn("lrn", WriteLrn);
const NodeWriterRegistration kWriteMatMul("matmul", WriteMatMul);
const NodeWriterRegistration kWritePool("pool", WritePool);
const NodeWriterRegistration kWriteReduce("reduce", WriteReduce);
const NodeWriterRegistration kWriteRelu("relu", WriteRelu);
const NodeWriterRegistration kWriteSlice("slice", WriteSlice);
const NodeWriterRegistration kWriteSoftmax("softmax", WriteSoftmax);
const NodeWriterRegistration kWriteHardSigmoid("hard_sigmoid", WriteHardSigmoid);
const NodeWriterRegistration kWriteSigmoid("sigmoid", WriteSigmoid);
const NodeWriterRegistration kWriteTranspose("transpose", WriteTranspose);

}  // namespace

NodeWriterRegistration::NodeWriterRegistration(std::string_view kind, NodeWriter write) {
  writers.Add(std::string(kind), write);
}

const NodeWriter* FindWriter(std::string_view kind) { return writers.Find(kind); }

void SetInt(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void SetFloat(onnx::NodeProto& node, const char* name, float value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

void SetString(onnx::NodeProto& node, const char* name, const char* value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

void SetInts(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

std::vector<std::string> NodeExport::Sources() const {
  std::vector<std::string> sources;
  for (const ValueId input : layer_.inputs) {
    sources.push_back(names_[static_cast<std::size_t>(input)]);
  }
  return sources;
}

bool NodeExport::IsNextTo(std::string_view kind) const {
  const GraphNode* producer = graph_.ProducerOf(layer_.inputs.front());
  if (producer != nullptr && producer->op->kind() == kind) return true;
  const std::vector<int>& readers = graph_.Readers(layer_.output);
  return std::any_of(readers.begin(), readers.end(), [&](int node) {
    return node >= 0 && graph_.nodes()[static_cast<std::size_t>(node)].op->kind() == kind;
  });
}

std::string NodeExport::NewName(const std::string& requested) {
  std::string name = requested;
  for (int i = 2; !used_names_.insert(name).second; ++i) name = fmt::format("{}_{}", requested, i);
  return name;
}

onnx::NodeProto& NodeExport::AddNode(std::string_view op_type, std::vector<std::string> inputs,
                                     std::string_view part) {
  onnx::NodeProto& node = *model_.add_node();
  node.set_op_type(std::string(op_type));
  node.set_name(part.empty() ? layer_.name : fmt::format("{}/{}", layer_.name, part));
  for (std::string& input : inputs) node.add_input(std::move(input));
  node.add_output(NewName(node.name()));
  return node;
}

void NodeExport::Finish() {
  onnx::NodeProto& last = *model_.mutable_node(model_.node_size() - 1);
  const bool is_the_output = graph_.outputs().size() == 1 && graph_.IsOutput(layer_.output);
  if (is_the_output) last.set_output(0, "output");
  names_[static_cast<std::size_t>(layer_.output)] = last.output(0);
}

std::string NodeExport::AddFloats(std::string_view name, const Shape& shape, const float* values) {
  onnx::TensorProto& tensor = *model_.add_initializer();
  tensor.set_name(NewName(ParameterKey(layer_.name, name)));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : shape.extents()) tensor.add_dims(extent);
  tensor.set_raw_data(values, static_cast<std::size_t>(shape.elements()) * sizeof(float));
  return tensor.name();
}

std::string NodeExport::AddInts(std::string_view name, const std::vector<std::int64_t>& values) {
  onnx::TensorProto& tensor = *model_.add_initializer();
  tensor.set_name(NewName(ParameterKey(layer_.name, name)));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  tensor.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  return tensor.name();
}

}  // namespace topdnn
