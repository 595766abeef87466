#include "tests/networks/onnx/sample_graphs.h"

#include <memory>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/bias/bias.h"
#include "kernels/concat/concat.h"
#include "kernels/conv/conv.h"
#include "kernels/conv_nd/conv_nd.h"
#include "kernels/conv_transpose/conv_transpose.h"
#include "kernels/dropout/dropout.h"
#include "kernels/eltwise/add.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/flatten/flatten.h"
#include "kernels/gather/gather.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/lrn/lrn.h"
#include "kernels/matmul/matmul.h"
#include "kernels/pool/pool.h"
#include "kernels/pool_nd/pool_nd.h"
#include "kernels/quantization/quantize.h"
#include "kernels/reduce/reduce.h"
#include "kernels/slice/slice.h"
#include "kernels/softmax/softmax.h"
#include "kernels/topk/topk.h"
#include "kernels/transpose/transpose.h"
#include "networks/onnx/export/exporter.h"
#include "tests/networks/onnx/model_builder.h"

namespace topdnn {

namespace {

std::string ShapeArithmetic() {
  ModelBuilder model(11);
  model.Input("x", {0, 2, 3, 3}).Output("fc");
  model.Ints("pads", {0, 0, 1, 1, 0, 0, 1, 1});
  model.Node("Pad", "pad", {"x", "pads"});
  model.Floats("w", {2, 2, 3, 3});
  model.Node("Conv", "conv", {"pad", "w"});
  model.Floats("cb", {2, 1, 1});
  model.Node("Add", "biased", {"conv", "cb"});
  model.Node("Shape", "shape", {"biased"});
  model.Ints("zero", {0});
  model.Ints("one", {1});
  model.Node("Slice", "batch", {"shape", "zero", "one", "zero"});
  model.Ints("rest", {-1});
  AddInt(model.Node("Concat", "target", {"batch", "rest"}), "axis", 0);
  AddInt(model.Node("Cast", "cast", {"target"}), "to", onnx::TensorProto::INT64);
  model.Node("Mul", "product", {"cast", "one"});
  model.Node("Reshape", "flat", {"biased", "product"});
  model.Floats("v", {18, 4});
  model.Node("MatMul", "fc", {"flat", "v"});
  return model.Bytes();
}

std::string OldOpset() {
  ModelBuilder model(7);
  model.Input("x", {1, 2, 5, 5}).Output("p");
  AddInts(model.Node("MaxPool", "pool", {"x"}), "kernel_shape", {2, 2});
  onnx::NodeProto& clip = model.Node("Clip", "clip", {"pool"});
  AddFloat(clip, "min", 0);
  AddFloat(clip, "max", 6);
  AddInts(model.Node("ReduceMean", "mean", {"clip"}), "axes", {2, 3});
  AddInts(model.Node("Transpose", "nhwc", {"mean"}), "perm", {0, 2, 3, 1});
  AddInts(model.Node("Squeeze", "squeezed", {"nhwc"}), "axes", {1, 2});
  AddFloat(model.Node("Dropout", "drop", {"squeezed"}), "ratio", 0.25F);
  model.Node("Softmax", "p", {"drop"});
  return model.Bytes();
}

// Two inputs, one of which is not an image, and three outputs. The batch is fixed.
std::string SeveralValues() {
  ModelBuilder model(13);
  model.Input("factor", {1, 1}).Input("x", {1, 2, 4, 4});
  model.Output("boxes").Output("scores").Output("conv");
  model.Floats("w", {4, 2, 3, 3});
  model.Node("Conv", "conv", {"x", "w"});
  model.Node("Mul", "scaled", {"conv", "factor"});
  AddInts(model.Node("Transpose", "last", {"scaled"}), "perm", {0, 2, 3, 1});
  model.Ints("rows", {1, -1, 4});
  model.Node("Reshape", "boxes", {"last", "rows"});
  AddInt(model.Node("Softmax", "scores", {"boxes"}), "axis", 2);
  return model.Bytes();
}

}  // namespace

std::string QuantizedModel() {
  ModelBuilder model(13);
  model.Input("x", {0, 2, 6, 6}).Output("fc");
  model.Floats("xs", {}, {0.03125F});
  model.Integers("middle", onnx::TensorProto::UINT8, {}, 128);
  model.Integers("zero", onnx::TensorProto::UINT8, {}, 0);
  model.Node("QuantizeLinear", "xq", {"x", "xs", "middle"});
  model.Node("DequantizeLinear", "xd", {"xq", "xs", "middle"});
  model.Integers("w", onnx::TensorProto::INT8, {4, 2, 3, 3},
                 [](int i) { return i * 37 % 256 - 128; });
  model.Floats("ws", {4}, {0.01F, 0.02F, 0.005F, 0.04F});
  AddInt(model.Node("DequantizeLinear", "wd", {"w", "ws"}), "axis", 0);
  model.Integers("b", onnx::TensorProto::INT32, {4}, [](int i) { return i * 100 - 150; });
  model.Floats("bs", {4}, {0.0003125F, 0.000625F, 0.00015625F, 0.00125F});
  AddInt(model.Node("DequantizeLinear", "bd", {"b", "bs"}), "axis", 0);
  model.Node("Conv", "conv", {"xd", "wd", "bd"});
  model.Node("Relu", "relu", {"conv"});
  model.Floats("ys", {}, {0.0625F});
  model.Node("QuantizeLinear", "yq", {"relu", "ys", "zero"});
  model.Node("DequantizeLinear", "yd", {"yq", "ys", "zero"});
  AddInts(model.Node("MaxPool", "pool", {"yd"}), "kernel_shape", {2, 2});
  model.Node("QuantizeLinear", "pq", {"pool", "ys", "zero"});
  model.Node("DequantizeLinear", "pd", {"pq", "ys", "zero"});
  model.Node("Flatten", "flat", {"pd"});
  model.Floats("v", {5, 36});
  model.Floats("vs", {}, {0.0625F});
  model.Integers("vz", onnx::TensorProto::INT8, {}, 0);
  model.Node("QuantizeLinear", "vq", {"v", "vs", "vz"});
  model.Node("DequantizeLinear", "vd", {"vq", "vs", "vz"});
  AddInt(model.Node("Gemm", "fc", {"flat", "vd"}), "transB", 1);
  return model.Bytes();
}

namespace {

// Adds windows over three axes and with gaps, and interpolations, to an image (N, C, 6, 6). The
// result has the same shape.
ValueId AddWindows(Graph& graph, ValueId value) {
  const Shape image = graph.shape(value);
  const SpatialAxis three{.extent = 3, .kernel = 3, .pad_before = 1, .pad_after = 1};
  const SpatialAxis wide{.extent = 6, .kernel = 2, .dilation = 3, .pad_before = 2, .pad_after = 1};
  const Shape volume{image[0], image[1], 3, 3, 4};
  const std::vector<SpatialAxis> axes = {three, three, SpatialAxis{.extent = 4}};
  value = graph.Add("volume", std::make_shared<FlattenOp>(image, volume), {value});
  value = graph.Add(
      "conv3d", std::make_shared<ConvNdOp>(ConvNdExtents{image[0], image[1], image[1], 2, axes}),
      {value});
  value = graph.Add("norm3d",
                    std::make_shared<PoolNdOp>(PoolNdAlgorithm::kLp,
                                               PoolNdExtents{image[0], image[1], axes, false, 3}),
                    {value});
  value = graph.Add("image", std::make_shared<FlattenOp>(volume, image), {value});
  value = graph.Add(
      "gaps",
      std::make_shared<PoolNdOp>(PoolNdAlgorithm::kMax,
                                 PoolNdExtents{.n = image[0], .c = image[1], .axes = {wide, wide}}),
      {value});
  const Shape small{image[0], image[1], 4, 3};
  value = graph.Add("smaller",
                    std::make_shared<InterpolateOp>(
                        image, small, std::vector<double>{1, 1, 4.0 / 6, 0.5},
                        InterpolateSettings{.interpolation = Interpolation::kCubic,
                                            .coordinates = Coordinates::kAlignCorners}),
                    {value});
  value = graph.Add("nearest",
                    std::make_shared<InterpolateOp>(
                        small, Shape{image[0], image[1], 5, 3}, std::vector<double>{1, 1, 1.375, 1},
                        InterpolateSettings{.rounding = NearestRounding::kCeil}),
                    {value});
  const SpatialAxis up{.extent = 6, .kernel = 4, .stride = 2, .pad_before = 1, .pad_after = 1};
  SpatialAxis longer = up;
  longer.extent = 11;
  longer.kernel = 3;
  longer.pad_after = 0;
  value = graph.Add("transposed",
                    std::make_shared<ConvTransposeOp>(
                        ConvNdExtents{image[0], image[1], image[1], 2, {longer, up}}),
                    {value});
  const std::vector<SliceAxis> first = {{0, 1, image[0]}, {0, 1, image[1]}, {2, 1, 6}, {0, 1, 6}};
  return graph.Add("first", std::make_shared<SliceOp>(graph.shape(value), first), {value});
}

}  // namespace

// Integers with zero points, and a scale that the network computes.
std::string IntegerModel() {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 4, 4}).Output("y");
  onnx::NodeProto& quantize = model.Node("DynamicQuantizeLinear", "q", {"x"});
  quantize.add_output("scale");
  quantize.add_output("zero");
  model.Integers("w", onnx::TensorProto::INT8, {2, 2, 3, 3}, [](int i) { return i * 7 - 100; });
  AddInts(model.Node("ConvInteger", "sums", {"q", "w", "zero"}), "pads", {1, 1, 1, 1});
  AddInt(model.Node("Cast", "real", {"sums"}), "to", onnx::TensorProto::FLOAT);
  model.Node("Mul", "product", {"real", "scale"});
  model.Floats("s", {}, {0.5F});
  model.Integers("z", onnx::TensorProto::UINT8, {}, 0);
  model.Node("QuantizeLinear", "small", {"product", "s", "z"});
  model.Floats("ws", {2}, {0.25F, 0.5F});
  model.Integers("wz", onnx::TensorProto::INT8, {2}, 0);
  model.Node("QLinearConv", "conv", {"small", "s", "z", "w", "ws", "wz", "s", "z"});
  AddInts(model.Node("MaxPool", "pool", {"conv"}), "kernel_shape", {2, 2});
  model.Node("Flatten", "flat", {"pool"});
  model.Integers("v", onnx::TensorProto::INT8, {2, 3}, [](int i) { return i - 2; });
  model.Integers("vz", onnx::TensorProto::INT8, {}, 1);
  model.Integers("yz", onnx::TensorProto::UINT8, {}, 9);
  model.Node("QLinearMatMul", "row", {"flat", "s", "z", "v", "s", "vz", "s", "yz"});
  model.Node("DequantizeLinear", "y", {"row", "s", "yz"});
  return model.Bytes();
}

// Indices, masks and comparisons, of constants and of the network's values.
std::string SelectionModel() {
  ModelBuilder model(13);
  model.Input("x", {2, 3, 4}).Output("loss");
  model.Scalar("last", 2);
  model.Node("CumSum", "summed", {"x", "last"});
  AddInt(model.Node("Hardmax", "hard", {"summed"}), "axis", 1);
  model.Node("Greater", "larger", {"summed", "x"});
  model.Node("Where", "chosen", {"larger", "hard", "x"});
  model.Ints("k", {2});
  onnx::NodeProto& top = model.Node("TopK", "largest", {"chosen", "k"});
  top.add_output("ranks");
  AddInt(model.Node("Cast", "real_ranks", {"ranks"}), "to", onnx::TensorProto::FLOAT);
  model.Node("Add", "both", {"largest", "real_ranks"});
  model.Ints("turned", {1, 0, 2});
  AddInt(model.Node("Gather", "rows", {"both", "turned"}), "axis", 1);
  onnx::TensorProto& place = model.Ints("place", {0, 2});
  place.clear_dims();
  place.add_dims(1);
  place.add_dims(2);
  model.Floats("update", {1, 2});
  model.Node("ScatterND", "scattered", {"rows", "place", "update"});
  model.Node("Trilu", "triangle", {"scattered"});
  AddInt(model.Node("ArgMin", "least", {"triangle"}), "axis", 2);
  model.Scalar("depth", 4);
  model.Floats("off_on", {2}, {-1, 1});
  model.Node("OneHot", "scores", {"least", "depth", "off_on"});
  AddInts(model.Node("Transpose", "turned_scores", {"scores"}), "perm", {0, 1, 3, 2});
  model.Node("MatMul", "square", {"scores", "turned_scores"});
  model.Ints("shape", {2, -1});
  model.Node("Reshape", "flat", {"square", "shape"});
  model.Ints("labels", {1, 0});
  model.Node("SoftmaxCrossEntropyLoss", "loss", {"flat", "labels"});
  return model.Bytes();
}

Graph EveryOperation() {
  Graph graph("every");
  constexpr std::int64_t kBatch = 2, kChannels = 4, kSize = 6;
  const ValueId x = graph.AddInput({kBatch, 3, kSize, kSize});
  const Shape image{kBatch, kChannels, kSize, kSize};
  const auto add = [&](const char* name, std::shared_ptr<const Op> op,
                       std::vector<ValueId> inputs) {
    return graph.Add(name, std::move(op), std::move(inputs));
  };
  ConvExtents e{.n = kBatch, .c = 3, .h = kSize, .w = kSize, .k = kChannels, .r = 3, .s = 3};
  e.pad_top = e.pad_left = e.pad_bottom = e.pad_right = 1;
  ValueId a = add("conv", std::make_shared<ConvOp>(e, ConvEpilogue{.bias = false}), {x});
  a = add("norm", std::make_shared<BatchNormOp>(image, 0.001F), {a});
  a = add("relu", std::make_shared<ReluOp>(image), {a});
  a = add("lrn", std::make_shared<LrnOp>(image, LrnSettings{.size = 3, .alpha = 0.5F}), {a});
  e.c = kChannels;
  e.groups = 2;
  e.dilation_h = 2;
  e.pad_top = 3;
  ValueId b = add("grouped", std::make_shared<ConvOp>(e), {a});
  b = add("relu6", std::make_shared<ReluOp>(image, 6.0F), {b});
  b = AddWindows(graph, b);
  const ValueId sum = add("sum", std::make_shared<AddOp>(image, 2), {a, b});
  PoolExtents p{.n = kBatch, .c = kChannels, .h = kSize, .w = kSize, .r = 3, .s = 2};
  p.pad_top = p.pad_bottom = p.pad_right = 1;
  p.stride_w = 2;
  p.ceil_mode = true;
  const ValueId max = add("max", std::make_shared<PoolOp>(PoolAlgorithm::kMax, p), {sum});
  const ValueId average =
      add("average", std::make_shared<PoolOp>(PoolAlgorithm::kAverage, p), {sum});
  p.ceil_mode = false;
  const ValueId padded =
      add("padded", std::make_shared<PoolOp>(PoolAlgorithm::kAverageOfPadding, p), {sum});
  const Shape pooled = graph.shape(max);
  ValueId c = add("concat",
                  std::make_shared<ConcatOp>(
                      std::vector<Shape>{pooled, graph.shape(average), graph.shape(padded)}, 1),
                  {max, average, padded});
  const Shape wide = graph.shape(c);
  c = add("shifted", std::make_shared<BiasOp>(wide), {c});
  c = add("clip", std::make_shared<ClipOp>(wide, -1.0F, 2.0F), {c});
  c = add("sigmoid", std::make_shared<SigmoidOp>(wide), {c});
  c = add("hard", std::make_shared<HardSigmoidOp>(wide, 0.25F, 0.5F), {c});
  c = add("leaky", std::make_shared<UnaryOp>(*FindUnaryFunction("leaky_relu"), wide, 0.25F, 0.0F),
          {c});
  c = add("selu", std::make_shared<UnaryOp>("selu", wide), {c});
  const auto binary = [&](const char* name, const Shape& first, const Shape& second,
                          BinaryConstant constant) {
    return std::make_shared<BinaryOp>(*FindBinaryFunction(name), first, second, constant);
  };
  c = add("scaled", binary("mul", wide, wide, BinaryConstant::kSecond), {c});
  c = add("rest", binary("sub", Shape{1, 1, 1, 1}, wide, BinaryConstant::kFirst), {c});
  c = add("larger_of", binary("max", wide, wide, BinaryConstant::kNone), {c, c});
  c = add("tanh", std::make_shared<UnaryOp>("tanh", wide), {c});
  c = add("product",
          std::make_shared<MatMulOp>(wide, Shape{1, 1, wide[3], wide[3]}, BinaryConstant::kSecond),
          {c});
  c = add("sorted", std::make_shared<TopKOp>(wide, TopKSettings{.axis = 1, .k = wide[1]}), {c});
  c = add("ranks", std::make_shared<TopKOp>(wide, TopKSettings{3, wide[3], false, true}), {c});
  c = add("positive", binary("greater", wide, Shape{1, 1, 1, 1}, BinaryConstant::kSecond), {c});
  c = add("part",
          std::make_shared<SliceOp>(
              wide, std::vector<SliceAxis>{{0, 1, wide[0]}, {1, 2, 2}, {0, 1, wide[2]}, {1, 1, 1}}),
          {c});
  c = add("larger", std::make_shared<InterpolateOp>(RepeatPixels(graph.shape(c), {1, 2})), {c});
  c = add("turned", std::make_shared<TransposeOp>(graph.shape(c), std::vector<int>{0, 1, 3, 2}),
          {c});
  const Quantization bytes{DataType::kU8, 0.0078125F};
  c = add("small", std::make_shared<QuantizeOp>(QuantizeOp::Step::kQuantize, graph.shape(c), bytes),
          {c});
  c = add("real",
          std::make_shared<QuantizeOp>(QuantizeOp::Step::kDequantize, graph.shape(c), bytes), {c});
  const Shape turned = graph.shape(c);
  c = add("drop", std::make_shared<DropoutOp>(turned, 0.25F, 7), {c});
  const ValueId total = add(
      "rows", std::make_shared<ReduceOp>(ReduceAlgorithm::kSum, turned, std::vector<int>{2}, false),
      {c});
  const ValueId mean =
      add("global",
          std::make_shared<PoolOp>(PoolAlgorithm::kAverage,
                                   PoolExtents::Global(turned[0], turned[1], turned[2], turned[3])),
          {c});
  const Shape summed = graph.shape(total);
  const ValueId picked = add(
      "picked", std::make_shared<GatherOp>(GatherExtents{summed[0], summed[1], summed[2], 3}, true),
      {total});
  const ValueId norm = add("norms",
                           std::make_shared<ReduceOp>(ReduceAlgorithm::kL2, graph.shape(picked),
                                                      std::vector<int>{1}, true),
                           {picked});
  const ValueId flat = add("flat", std::make_shared<FlattenOp>(graph.shape(norm)), {norm});
  const ValueId fc = add("fc", std::make_shared<InnerProductOp>(graph.shape(flat), 5), {flat});
  const ValueId head = add(
      "head",
      std::make_shared<InnerProductOp>(graph.shape(mean), 5, InnerProductEpilogue{.bias = false}),
      {mean});
  const ValueId logits =
      add("logits", std::make_shared<AddOp>(Shape{kBatch, 5}, 3), {fc, head, fc});
  add("softmax", std::make_shared<SoftmaxOp>(kBatch, 5), {logits});
  return graph;
}

std::vector<std::string> SampleModels() {
  const Graph graph = EveryOperation();
  return {ExportOnnx(graph, DrawnParameters(graph, 1)),
          ShapeArithmetic(),
          OldOpset(),
          QuantizedModel(),
          SeveralValues(),
          IntegerModel(),
          SelectionModel()};
}

}  // namespace topdnn
