#include "networks/parameters/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace topdnn {

double LearningRateSchedule::At(std::int64_t step) const {
  step = std::clamp<std::int64_t>(step, 0, std::max<std::int64_t>(steps - 1, 0));
  const double done =
      static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(steps, 1));
  double rate = base;
  if (kind == Kind::kStep) rate = base * (done < 0.5 ? 1.0 : done < 0.75 ? 0.1 : 0.01);
  if (kind == Kind::kCosine) rate = base * 0.5 * (1 + std::cos(std::numbers::pi * done));
  if (step < warmup_steps) {
    rate *= static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
  }
  return rate;
}

std::optional<LearningRateSchedule::Kind> ParseSchedule(std::string_view name) {
  if (name == "constant") return LearningRateSchedule::Kind::kConstant;
  if (name == "step") return LearningRateSchedule::Kind::kStep;
  if (name == "cosine") return LearningRateSchedule::Kind::kCosine;
  return std::nullopt;
}

}  // namespace topdnn
