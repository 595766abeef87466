#include "kernels/check/random_inputs.h"

#include <cmath>
#include <random>
#include <vector>

namespace topdnn {

namespace {

using Random = std::mt19937_64;

std::vector<double> WholeNumbers(std::int64_t n, Random& random, std::int64_t least,
                                 std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& value : values) {
    value = static_cast<double>(
        least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)));
  }
  return values;
}

// Rounds to the type by storing and reading back.
std::vector<double> RealNumbers(const Operand& operand, Random& random) {
  std::vector<double> values(static_cast<std::size_t>(operand.shape.elements()));
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (double& value : values) value = uniform(random);
  if (operand.type == DataType::kF64) return values;
  if (operand.type == DataType::kF32) {
    for (double& value : values) value = static_cast<double>(static_cast<float>(value));
    return values;
  }
  const Tensor rounded(operand.shape, operand.type);
  FromDouble(values, rounded.desc(), rounded.data());
  return ToDouble(rounded.desc(), rounded.data());
}

}  // namespace

Values RandomInputs(const Op& op, const Execution& execution, std::uint64_t seed) {
  Values values;
  Random random(seed);
  for (const Operand& operand : op.Operands(execution)) {
    if (operand.direction == Direction::kOut || operand.arg == Arg::kWorkspace) continue;
    const std::int64_t n = operand.shape.elements();
    std::vector<double>& of_operand = values[operand.arg];
    if (operand.arg == Arg::kLabels) {
      of_operand = WholeNumbers(n, random, 0, op.Find(execution, Arg::kSrc)->shape[1]);
    } else if (operand.arg == Arg::kStep) {
      of_operand = WholeNumbers(n, random, 0, 10);
    } else if (op.kind() == "integer_steps") {
      of_operand = WholeNumbers(n, random, -1000, 2001);
    } else if (operand.type == DataType::kU8) {
      // 7 bits only: without VNNI the sum of two products has 16 bits and would saturate.
      of_operand = WholeNumbers(n, random, 0, 128);
    } else if (operand.type == DataType::kS8) {
      of_operand = WholeNumbers(n, random, -64, 128);
    } else if (operand.type == DataType::kS32 || operand.type == DataType::kS64) {
      of_operand = WholeNumbers(n, random, -1000, 2001);
    } else {
      of_operand = RealNumbers(operand, random);
    }
    if (operand.arg == Arg::kVariance || operand.arg == Arg::kSecondMoment) {
      for (double& value : of_operand) value = std::abs(value);
    }
  }
  return values;
}

}  // namespace topdnn
