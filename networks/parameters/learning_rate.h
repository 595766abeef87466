// The learning rate over the steps of a training run.

#ifndef TOPDNN_NETWORKS_PARAMETERS_LEARNING_RATE_H_
#define TOPDNN_NETWORKS_PARAMETERS_LEARNING_RATE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace topdnn {

struct LearningRateSchedule {
  enum class Kind {
    kConstant,
    kStep,    // a tenth after half of the steps, a hundredth after three quarters: He et al. 2015,
              // "Deep Residual Learning for Image Recognition", section 4.2
    kCosine,  // half a cosine down to 0: Loshchilov and Hutter 2017, "SGDR", without restarts
  };
  Kind kind = Kind::kConstant;
  double base = 0.01;
  std::int64_t steps = 1;
  // Number of steps at the start during which the rate rises linearly to the schedule's value:
  // Goyal et al. 2017, "Accurate, Large Minibatch SGD", section 2.2.
  std::int64_t warmup_steps = 0;

  // The rate of step `step`, from 0. After the end it is the rate of the last step.
  double At(std::int64_t step) const;
};

// "constant", "step" or "cosine".
std::optional<LearningRateSchedule::Kind> ParseSchedule(std::string_view name);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PARAMETERS_LEARNING_RATE_H_
