// Softmax and SoftmaxCrossEntropyLoss. The class axis is moved last, so that each position in the
// other axes is a row.

#include <cmath>
#include <memory>
#include <utility>

#include "kernels/softmax/cross_entropy.h"
#include "kernels/softmax/softmax.h"
#include "tests/networks/onnx/node_translation.h"

namespace topdnn {

namespace {

// The rows that are not ignored. topdnn averages their losses; ONNX may reduce them differently.
struct Loss {
  std::vector<double> logits;  // (rows, classes)
  std::vector<double> labels;
  std::int64_t classes;

  NodeRun Run(const NodeCase& node, double expected) const {
    const auto rows = static_cast<std::int64_t>(labels.size());
    return {std::make_shared<SoftmaxCrossEntropyOp>(rows, classes),
            InferenceOf(node),
            {{Arg::kSrc, logits}, {Arg::kLabels, labels}},
            {{Arg::kLoss, {expected}}}};
  }
};

// Selects the rows whose label is not ignored.
Loss Counted(const NodeCase& node, const std::vector<double>& logits, std::int64_t classes) {
  const std::vector<double>& labels = node.Input(1)->values;
  const auto ignored = node.ints.find("ignore_index");
  Loss counted{{}, {}, classes};
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (ignored != node.ints.end() && labels[row] == static_cast<double>(ignored->second)) continue;
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row) * classes;
    counted.logits.insert(counted.logits.end(), first, first + classes);
    counted.labels.push_back(labels[row]);
  }
  return counted;
}

// For unreduced losses: the mean over a batch of one is the loss of its row. Weights scale the
// rows.
std::vector<NodeRun> RunRows(const NodeCase& node, const Loss& loss) {
  const std::vector<double>& all_labels = node.Input(1)->values;
  const std::vector<double>& expected = node.Output(0)->values;
  const OnnxTensor* weights = node.Input(2);
  std::vector<NodeRun> runs;
  std::size_t row = 0;
  for (std::size_t i = 0; i < all_labels.size() && row < loss.labels.size(); ++i) {
    // Rows that are not ignored keep their order; ignored ones lie between them.
    if (all_labels[i] != loss.labels[row]) continue;
    const auto first = loss.logits.begin() + static_cast<std::ptrdiff_t>(row) * loss.classes;
    const Loss one{{first, first + loss.classes}, {loss.labels[row]}, loss.classes};
    const double weight =
        weights == nullptr ? 1 : weights->values[static_cast<std::size_t>(one.labels[0])];
    if (weight != 0) runs.push_back(one.Run(node, expected[i] / weight));
    ++row;
  }
  return runs;
}

}  // namespace

Translation TranslateSoftmax(const NodeCase& node) {
  if (node.opset < 13) return LeaveOut("before opset 13, softmax ran over several axes");
  const OnnxTensor& src = *node.Input(0);
  const AxisView view = Around(src.shape, node.Int("axis", -1));
  return {{{std::make_shared<SoftmaxOp>(view.outer * view.inner, view.along),
            InferenceOf(node),
            {{Arg::kSrc, AxisLast(src.values, view)}},
            {{Arg::kDst, AxisLast(node.Output(0)->values, view)}}}}};
}

Translation TranslateSoftmaxCrossEntropyLoss(const NodeCase& node) {
  const AxisView view = Around(node.Input(0)->shape, 1);
  const std::vector<double> logits = AxisLast(node.Input(0)->values, view);
  const Loss counted = Counted(node, logits, view.along);
  const std::string reduction = node.String("reduction", "mean");
  Translation translation;
  if (reduction == "none") {
    translation.runs = RunRows(node, counted);
  } else if (node.Input(2) != nullptr) {
    return LeaveOut("class weights in a reduced loss: topdnn computes the plain mean");
  } else {
    const double published = node.Output(0)->values[0];
    const auto rows = static_cast<double>(counted.labels.size());
    translation.runs = {counted.Run(node, reduction == "sum" ? published / rows : published)};
  }
  if (const OnnxTensor* log_prob = node.Output(1)) {
    // topdnn computes the softmax, not its logarithm.
    std::vector<double> probabilities = AxisLast(log_prob->values, view);
    for (double& p : probabilities) p = std::exp(p);
    translation.runs.push_back({std::make_shared<SoftmaxOp>(view.outer * view.inner, view.along),
                                InferenceOf(node),
                                {{Arg::kSrc, logits}},
                                {{Arg::kDst, std::move(probabilities)}}});
  }
  return translation;
}

}  // namespace topdnn
