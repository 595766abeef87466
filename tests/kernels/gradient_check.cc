#include "tests/kernels/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/case_count.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {

std::pair<Pass, Arg> GradientOf(Arg input) {
  switch (input.role) {
    case Arg::kSrc:
      return {Pass::kBackwardData, {Arg::kDiffSrc, input.index}};
    case Arg::kWeights:
      return {Pass::kBackwardWeights, Arg::kDiffWeights};
    case Arg::kBias:
      return {Pass::kBackwardWeights, Arg::kDiffBias};
    case Arg::kScale:
      return {Pass::kBackwardData, Arg::kDiffScale};
    case Arg::kShift:
      return {Pass::kBackwardData, Arg::kDiffShift};
    default:
      ADD_FAILURE() << NameOf(input) << " has no gradient";
      return {};
  }
}

double SlopeIn(double& element, const std::function<double()>& loss) {
  constexpr double kStep = 1e-5;
  const double at = element;
  element = at + kStep;
  const double above = loss();
  element = at - kStep;
  const double below = loss();
  element = at;
  return (above - below) / (2 * kStep);
}

void CheckGradient(const std::shared_ptr<const Op>& op, Arg input, std::uint64_t seed) {
  SCOPED_TRACE(std::string(op->kind()) + " " + op->Problem() + " d/d" + NameOf(input));
  const Execution forward{Pass::kForward, true, DataType::kF64};
  Values values = RandomInputs(*op, forward, seed);
  KernelRun run("reference", RequestFor(op, forward, 1));
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  const Shape dst = op->Find(forward, Arg::kDst)->shape;
  const std::vector<double> diff_dst = [&] {
    std::mt19937_64 random(seed + 1);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<double> drawn(static_cast<std::size_t>(dst.elements()));
    for (double& value : drawn) value = uniform(random);
    return drawn;
  }();
  const auto loss = [&] {
    run.SetInputs(values);
    run.Run();
    const std::vector<double> result = run.Get(Arg::kDst);
    double sum = 0;
    for (std::size_t i = 0; i < result.size(); ++i) sum += result[i] * diff_dst[i];
    return sum;
  };
  loss();

  auto [pass, gradient] = GradientOf(input);
  // (a product's gradients are computed together)
  if (!op->Has({pass, true, DataType::kF64})) pass = Pass::kBackwardData;
  KernelRun backward("reference", RequestFor(op, {pass, true, DataType::kF64}, 1));
  ASSERT_NE(backward.kernel(), nullptr) << backward.refusal();
  for (const KernelOperand& operand : backward.kernel()->operands()) {
    if (operand.direction == Direction::kOut) continue;
    if (operand.arg == Arg::kDiffDst) {
      backward.Set(operand.arg, diff_dst);
    } else if (run.kernel()->Find(operand.arg) != nullptr) {
      backward.Set(operand.arg, run.Get(operand.arg));
    }
  }
  backward.Run();
  const std::vector<double> analytic = backward.Get(gradient);

  const std::size_t stride = std::max<std::size_t>(1, analytic.size() / 40);
  for (std::size_t i = 0; i < analytic.size(); i += stride) {
    const double numeric = SlopeIn(values.at(input)[i], loss);
    // Sums of order one lose about 1e-11 to rounding; curvature adds the square of the step.
    EXPECT_NEAR(analytic[i], numeric, 1e-7 * std::max(1.0, std::abs(numeric))) << "element " << i;
  }
  CountCase("gradient check");
}

}  // namespace topdnn
