// BatchNormalization.

#include <memory>
#include <utility>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/batchnorm/moving_average.h"
#include "tests/networks/onnx/node_translation.h"

namespace topdnn {

namespace {

// The statistic of the batch itself. ONNX publishes only the moving average: moved = momentum *
// running + (1 - momentum) * batch. Solving for the batch multiplies the rounding error of `moved`
// by 1 / (1 - momentum). Only ONNX's own bound allows for that.
std::vector<double> OfBatch(const OnnxTensor& running, const OnnxTensor& moved, double momentum) {
  std::vector<double> batch(moved.values.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i] = (moved.values[i] - momentum * running.values[i]) / (1 - momentum);
  }
  return batch;
}

Translation TranslateTraining(const NodeCase& node) {
  const OnnxTensor& src = *node.Input(0);
  const float momentum = node.Float("momentum", MovingAverageOp::kDefaultMomentum);
  const Execution training{Pass::kForward, true, src.type};
  Translation translation;
  NodeRun& norm = translation.runs.emplace_back(NodeRun{
      std::make_shared<BatchNormOp>(src.shape, node.Float("epsilon", BatchNormOp::kDefaultEpsilon)),
      training,
      {{Arg::kSrc, src.values},
       {Arg::kScale, node.Input(1)->values},
       {Arg::kShift, node.Input(2)->values}},
      {{Arg::kDst, node.Output(0)->values}}});
  const auto average = std::make_shared<MovingAverageOp>(src.shape[1], momentum);
  std::vector<NodeRun> averages;
  for (const auto& [statistic, i] : {std::pair{Arg::kMean, 1}, {Arg::kVariance, 2}}) {
    const OnnxTensor& running = *node.Input(static_cast<std::size_t>(i) + 2);
    const OnnxTensor& moved = *node.Output(static_cast<std::size_t>(i));
    norm.expected[statistic] = OfBatch(running, moved, static_cast<double>(momentum));
    averages.push_back({average,
                        training,
                        {{Arg::kSrc, norm.expected[statistic]}, {Arg::kDst, running.values}},
                        {{Arg::kDst, moved.values}}});
  }
  translation.runs.insert(translation.runs.end(), averages.begin(), averages.end());
  return translation;
}

}  // namespace

Translation TranslateBatchNormalization(const NodeCase& node) {
  if (node.Int("training_mode", 0) != 0) return TranslateTraining(node);
  const OnnxTensor& src = *node.Input(0);
  return {{{std::make_shared<BatchNormOp>(src.shape,
                                          node.Float("epsilon", BatchNormOp::kDefaultEpsilon)),
            InferenceOf(node),
            {{Arg::kSrc, src.values},
             {Arg::kScale, node.Input(1)->values},
             {Arg::kShift, node.Input(2)->values},
             {Arg::kMean, node.Input(3)->values},
             {Arg::kVariance, node.Input(4)->values}},
            {{Arg::kDst, node.Output(0)->values}}}}};
}

}  // namespace topdnn
