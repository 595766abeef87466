// The settings of parameter updates after a training step.

#ifndef TOPDNN_NETWORKS_PARAMETERS_OPTIMIZER_H_
#define TOPDNN_NETWORKS_PARAMETERS_OPTIMIZER_H_

namespace topdnn {

struct Optimizer {
  enum class Kind { kSgd, kAdam };
  Kind kind = Kind::kSgd;
  float learning_rate = 0.01F;
  float momentum = 0.0F;  // SGD
  float weight_decay = 0.0F;
  // Adam (Kingma and Ba 2015, algorithm 1).
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PARAMETERS_OPTIMIZER_H_
