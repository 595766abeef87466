// Denormals in the operands of a plan's stages.

#ifndef TOPDNN_BENCH_PROFILE_DENORMAL_OPERANDS_H_
#define TOPDNN_BENCH_PROFILE_DENORMAL_OPERANDS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/experiments/denormals.h"
#include "harness/results/experiment_results.h"
#include "networks/plan/plan.h"

namespace topdnn {

// The format of a floating-point type; absent for integers.
std::optional<FloatFormat> FloatFormatOf(DataType type);

// The floating-point operands that the stage reads now, or its results. `most`: see DenormalShare.
std::vector<OperandDenormals> DenormalsOf(const Plan& plan, const Stage& stage, bool results,
                                          std::size_t most = 0);

// "the weights", "the values src", with the stage: "... of conv1 forward".
std::string TextOf(const OperandDenormals& operand, const Stage& stage);

struct PlanDenormals {
  std::string note;  // that an operand has over 0.1 % of them; or empty
  // Per stage, "10 % of the weights of conv2 forward are denormal, ...", or empty.
  std::vector<std::string> by_stage;
};

// Runs a step and looks at each stage's operands before it runs, and at its results.
PlanDenormals ScanForDenormals(Plan& plan);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_DENORMAL_OPERANDS_H_
