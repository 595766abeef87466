// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, composed of a mask of the classes that the
// labels name, and reductions.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "networks/onnx/import/node_import.h"
#include "networks/onnx/nodes/binary_nodes.h"
#include "networks/onnx/nodes/composed_nodes.h"
#include "networks/onnx/nodes/index_nodes.h"

namespace topdnn {

namespace {

// What the labels give: 1 at the class of each label that is not ignored, (N, C, D), and the weight
// of each label, (N, 1, D), 0 for an ignored one. Both are constants or layers.
struct Labels {
  std::optional<ModelTensor> constant_mask, constant_weights;
  ImportedValue mask, weights;
};

// The weights of the classes; 1 without the input.
std::vector<double> ClassWeights(const NodeImport& node, std::int64_t classes) {
  if (!node.Has(2)) return std::vector<double>(static_cast<std::size_t>(classes), 1.0);
  std::vector<double> weights = ValuesOf(node.ConstantAt(2));
  if (static_cast<std::int64_t>(weights.size()) != classes) {
    throw UnsupportedNode(fmt::format("{} weights of {} classes", weights.size(), classes));
  }
  return weights;
}

std::optional<std::int64_t> IgnoredLabel(const NodeImport& node) {
  if (!node.node().Has("ignore_index")) return std::nullopt;
  return node.node().Int("ignore_index", 0);
}

// `scores` is (N, C, D).
Labels ConstantLabels(NodeImport& node, const Shape& scores) {
  const std::int64_t classes = scores[1], inner = scores[2];
  const std::vector<std::int64_t> labels = IntsOf(node.ConstantAt(1));
  if (static_cast<std::int64_t>(labels.size()) != scores[0] * inner) {
    throw UnsupportedNode(fmt::format("{} labels for scores of {}", labels.size(),  //
                                      scores.ToString()));
  }
  node.ReserveMemory(scores, DataType::kF64);
  const std::vector<double> of_class = ClassWeights(node, classes);
  const std::optional<std::int64_t> ignored = IgnoredLabel(node);
  std::vector<double> mask(static_cast<std::size_t>(scores.elements()), 0.0);
  std::vector<double> weights(labels.size(), 0.0);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t label = labels[i];
    if (label == ignored) continue;
    if (label < 0 || label >= classes) {
      throw UnsupportedNode(fmt::format("the label {} of {} classes", label, classes));
    }
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t place = (at / inner * classes + label) * inner + at % inner;
    mask[static_cast<std::size_t>(place)] = 1;
    weights[i] = of_class[static_cast<std::size_t>(label)];
  }
  Labels result;
  result.constant_mask = MakeTensor(scores, DataType::kF32, std::move(mask));
  result.constant_weights =
      MakeTensor(Shape{scores[0], 1, inner}, DataType::kF32, std::move(weights));
  return result;
}

// Each label is compared with the numbers of the classes. The ignored class gets the number -0.5,
// which no label equals.
Labels ComputedLabels(NodeImport& node, const Shape& scores) {
  ImportedValue labels = node.AnySourceAt(1);
  if (labels.type != kOnnxInt32 && labels.type != kOnnxInt64) {
    throw UnsupportedNode(fmt::format("labels of {}", NameOfOnnxType(labels.type)));
  }
  if (labels.shape.elements() != scores[0] * scores[2]) {
    throw UnsupportedNode(
        fmt::format("labels of {} for scores of {}", labels.shape.ToString(), scores.ToString()));
  }
  labels.shape = Shape{scores[0], 1, scores[2]};
  std::vector<double> numbers = ValuesOf(IndicesAlong(node, scores[1], 1, 3));
  const std::optional<std::int64_t> ignored = IgnoredLabel(node);
  if (ignored && *ignored >= 0 && *ignored < scores[1]) {
    numbers[static_cast<std::size_t>(*ignored)] = -0.5;
  }
  const Shape by_class{1, scores[1], 1};
  Labels result;
  result.mask =
      AddBinary(node, "equal", labels, MakeTensor(by_class, DataType::kF32, std::move(numbers)));
  const ImportedValue weighted =
      AddBinary(node, "mul", result.mask,
                MakeTensor(by_class, DataType::kF32, ClassWeights(node, scores[1])));
  result.weights = AddReduction(node, ReduceAlgorithm::kSum, weighted, {1});
  return result;
}

// The sum over all losses, divided by the sum of the labels' weights for a mean.
ImportedValue AddReduced(NodeImport& node, const ImportedValue& losses, const Labels& labels,
                         bool mean) {
  const std::vector<int> all = {0, 1, 2};
  ImportedValue result = AddReduction(node, ReduceAlgorithm::kSum, losses, all);
  if (mean && labels.constant_weights) {
    double sum = 0;
    for (const double weight : ValuesOf(*labels.constant_weights)) sum += weight;
    if (sum == 0) throw UnsupportedNode("a mean of losses whose weights are all 0");
    result = AddBinary(node, "div", result, ScalarTensor(sum));
  } else if (mean) {
    result = AddBinary(node, "div", result,
                       AddReduction(node, ReduceAlgorithm::kSum, labels.weights, all));
  }
  result.shape = Shape{};
  return result;
}

// The loss of the logarithms of probabilities (N, C, ...).
ImportedValue AddLoss(NodeImport& node, ImportedValue logs) {
  const Shape given = logs.shape;
  if (given.rank() < 2) throw UnsupportedNode(fmt::format("scores of {}", given.ToString()));
  RequireElements(given);
  const Shape scores{given[0], given[1], given.elements() / given[0] / given[1]};
  logs.shape = scores;
  const Labels labels =
      node.IsConstant(1) ? ConstantLabels(node, scores) : ComputedLabels(node, scores);
  const ImportedValue of_classes = labels.constant_mask
                                       ? AddBinary(node, "masked", *labels.constant_mask, logs)
                                       : AddBinary(node, "masked", labels.mask, logs);
  ImportedValue losses =
      AddUnary(node, "neg", AddReduction(node, ReduceAlgorithm::kSum, of_classes, {1}));
  losses = labels.constant_weights ? AddBinary(node, "mul", losses, *labels.constant_weights)
                                   : AddBinary(node, "mul", losses, labels.weights);
  const std::string reduction = node.node().String("reduction", "mean");
  if (reduction == "mean" || reduction == "sum") {
    return AddReduced(node, losses, labels, reduction == "mean");
  }
  if (reduction != "none") throw UnsupportedNode("reduction " + Printable(reduction));
  std::vector<std::int64_t> extents = given.extents();
  extents.erase(extents.begin() + 1);
  losses.shape = Shape(std::move(extents));
  return losses;
}

void ImportNegativeLogLikelihoodLoss(NodeImport& node) {
  node.Produce(AddLoss(node, node.SourceAt(0)));
}

void ImportSoftmaxCrossEntropyLoss(NodeImport& node) {
  ImportedValue scores = node.SourceAt(0);
  const Shape shape = scores.shape;
  if (shape.rank() < 2) throw UnsupportedNode(fmt::format("scores of {}", shape.ToString()));
  RequireElements(shape);
  scores.shape = Shape{shape[0], shape[1], shape.elements() / shape[0] / shape[1]};
  ImportedValue logs = AddLogSoftmax(node, scores, 1);
  logs.shape = shape;
  if (node.IsRead(0)) node.Produce(AddLoss(node, logs));
  if (node.node().outputs.size() > 1 && node.IsRead(1)) node.Produce(std::move(logs), 1);
}

const NodeRegistration kNegativeLogLikelihoodLoss("NegativeLogLikelihoodLoss",
                                                  ImportNegativeLogLikelihoodLoss);
const NodeRegistration kSoftmaxCrossEntropyLoss("SoftmaxCrossEntropyLoss",
                                                ImportSoftmaxCrossEntropyLoss);

}  // namespace

}  // namespace topdnn
