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

// Runs a step and looks at each stage's operands before it runs: "denormals are over 0.1 % of ...".
// Empty if they are not.
std::string DenormalNote(Plan& plan);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_DENORMAL_OPERANDS_H_
