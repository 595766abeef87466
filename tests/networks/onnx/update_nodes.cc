// Momentum and Adam (ai.onnx.preview.training). Inputs: rate R, number of updates T, then groups of
// tensors with one tensor per parameter each: parameters, gradients, moments.

#include <memory>

#include "kernels/sgd/adam.h"
#include "kernels/sgd/sgd.h"
#include "tests/networks/onnx/node_translation.h"

namespace topdnn {

namespace {

// Tensor i of a group. In the inputs the groups follow R and T; the outputs start with the
// parameters.
const std::vector<double>& InGroup(const NodeCase& node, std::size_t group, std::size_t parameters,
                                   std::size_t i) {
  return node.Input(2 + group * parameters + i)->values;
}

const std::vector<double>& Result(const NodeCase& node, std::size_t group, std::size_t parameters,
                                  std::size_t i) {
  return node.Output(group * parameters + i)->values;
}

// The operator's definition says 1e-6. The results of one case use an epsilon that its model does
// not contain (onnx/backend/test/case/node/adam.py).
float DefaultEpsilon(const NodeCase& node) {
  return node.name == "test_adam_multiple" ? 1e-2F : 1e-6F;
}

}  // namespace

Translation TranslateMomentum(const NodeCase& node) {
  if (node.String("mode", "") != "standard") {
    return LeaveOut("Nesterov momentum: topdnn has only classical momentum");
  }
  // From the second update on, ONNX multiplies the gradient by beta. topdnn has no such factor.
  if (node.Input(1)->values[0] > 0 && node.Float("beta", 1.0F) != 1.0F) {
    return LeaveOut("a damped gradient: topdnn does not support it");
  }
  const SgdSettings settings{.momentum = node.Float("alpha", 0.0F),
                             .weight_decay = node.Float("norm_coefficient", 0.0F)};
  const std::size_t parameters = (node.inputs.size() - 2) / 3;
  Translation translation;
  for (std::size_t i = 0; i < parameters; ++i) {
    const std::vector<double>& weights = InGroup(node, 0, parameters, i);
    translation.runs.push_back(
        {std::make_shared<SgdOp>(static_cast<std::int64_t>(weights.size()), settings),
         InferenceOf(node),
         {{Arg::kLearningRate, node.Input(0)->values},
          {Arg::kWeights, weights},
          {Arg::kDiffWeights, InGroup(node, 1, parameters, i)},
          {Arg::kMomentum, InGroup(node, 2, parameters, i)}},
         {{Arg::kWeights, Result(node, 0, parameters, i)},
          {Arg::kMomentum, Result(node, 1, parameters, i)}}});
  }
  return translation;
}

Translation TranslateAdam(const NodeCase& node) {
  if (node.Float("norm_coefficient_post", 0.0F) != 0.0F) {
    return LeaveOut("weight decay after the update: topdnn's Adam adds it to the gradient");
  }
  const AdamSettings settings{.beta1 = node.Float("alpha", 0.9F),
                              .beta2 = node.Float("beta", 0.999F),
                              .epsilon = node.Float("epsilon", DefaultEpsilon(node)),
                              .weight_decay = node.Float("norm_coefficient", 0.0F)};
  // ONNX corrects the bias of the moments by T, the number of this update, and with T = 0 not at
  // all. topdnn makes no correction after so many updates that every power of beta is 0.
  constexpr double kCorrectionHasFaded = 1e8;
  const double t = node.Input(1)->values[0];
  const double step = t == 0 ? kCorrectionHasFaded : t - 1;
  const std::size_t parameters = (node.inputs.size() - 2) / 4;
  Translation translation;
  for (std::size_t i = 0; i < parameters; ++i) {
    const std::vector<double>& weights = InGroup(node, 0, parameters, i);
    translation.runs.push_back(
        {std::make_shared<AdamOp>(static_cast<std::int64_t>(weights.size()), settings),
         InferenceOf(node),
         {{Arg::kLearningRate, node.Input(0)->values},
          {Arg::kStep, {step}},
          {Arg::kWeights, weights},
          {Arg::kDiffWeights, InGroup(node, 1, parameters, i)},
          {Arg::kMomentum, InGroup(node, 2, parameters, i)},
          {Arg::kSecondMoment, InGroup(node, 3, parameters, i)}},
         {{Arg::kWeights, Result(node, 0, parameters, i)},
          {Arg::kMomentum, Result(node, 1, parameters, i)},
          {Arg::kSecondMoment, Result(node, 2, parameters, i)}}});
  }
  return translation;
}

}  // namespace topdnn
