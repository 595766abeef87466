// BatchNormalization, LRN and Softmax.

#include <memory>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/lrn/lrn.h"
#include "kernels/softmax/softmax.h"
#include "kernels/transpose/transpose.h"
#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/composed_nodes.h"
#include "networks/onnx/nodes/index_nodes.h"

namespace topdnn {

namespace {

void ImportBatchNormalization(NodeImport& node) {
  if (node.node().Int("training_mode", 0) != 0) {
    ImportNormalizationOfBatch(node);
    return;
  }
  if (node.node().Int("spatial", 1) != 1) throw UnsupportedNode("spatial 0");
  const ImportedValue value = node.SourceAt(0);
  // Elements of a channel are treated alike, whatever the shape of the dimensions after it.
  const Shape& elements = node.ShapeOf(node.Elements(value));
  const bool same_channels = elements.rank() > 1 && value.shape.rank() > 1 &&
                             elements[0] == value.shape[0] && elements[1] == value.shape[1];
  const ValueId source = same_channels ? value.value : node.Plain(value);
  const auto op =
      std::make_shared<BatchNormOp>(node.ShapeOf(source), node.node().Float("epsilon", 1e-5F));
  const ModelTensor* constants[] = {&node.ConstantAt(1), &node.ConstantAt(2), &node.ConstantAt(3),
                                    &node.ConstantAt(4)};
  const ValueId result = node.AddLayer(op, {source});
  const char* names[] = {"scale", "shift", "mean", "variance"};
  for (int i = 0; i < 4; ++i) node.SetParameter(names[i], *constants[i], Shape{op->channels()});
  node.ProduceNorm({result, value.shape});
}

void ImportLrn(NodeImport& node) {
  const LrnSettings settings{.size = node.node().Int("size", 0),
                             .alpha = node.node().Float("alpha", 1e-4F),
                             .beta = node.node().Float("beta", 0.75F),
                             .k = node.node().Float("bias", 1.0F)};
  const ValueId source = node.Plain(node.SourceAt(0));
  const ValueId result =
      node.AddLayer(std::make_shared<LrnOp>(node.ShapeOf(source), settings), {source});
  node.Produce({result, node.ShapeOf(result)});
}

// If the dimensions after the axis have more than one element, a transposition makes the axis the
// last dimension, and another one moves it back.
void ImportSoftmax(NodeImport& node) {
  ImportedValue source = node.SourceAt(0);
  const Shape shape = source.shape;
  const int axis = SoftmaxAxisOf(node, source);
  const std::int64_t columns = source.shape[axis];
  std::int64_t rows = 1, after = 1;
  for (int d = 0; d < axis; ++d) rows *= source.shape[d];
  for (int d = axis + 1; d < source.shape.rank(); ++d) after *= source.shape[d];
  if (after > 1) {
    const auto swapped = [&](ValueId value) {
      const std::vector<int> order = {0, 2, 1};
      return node.AddLayer(std::make_shared<TransposeOp>(node.ShapeOf(value), order), {value});
    };
    source.shape = Shape{rows, columns, after};
    const ValueId last = swapped(node.Plain(source));
    const ValueId matrix = node.Plain({last, Shape{rows * after, columns}});
    const auto op = std::make_shared<SoftmaxOp>(rows * after, columns);
    const ValueId result = node.AddLayer(op, {matrix});
    node.Produce({swapped(node.Plain({result, Shape{rows, after, columns}})), shape});
    return;
  }
  source.shape = Shape{rows, columns};
  const ValueId matrix = node.Plain(source);
  const ValueId result = node.AddLayer(std::make_shared<SoftmaxOp>(rows, columns), {matrix});
  node.Produce({result, shape});
}

const NodeRegistration kBatchNormalization("BatchNormalization", ImportBatchNormalization);
const NodeRegistration kLrn("LRN", ImportLrn);
const NodeRegistration kSoftmax("Softmax", ImportSoftmax);

}  // namespace

}  // namespace topdnn
