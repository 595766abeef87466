#include "kernels/check/random_inputs.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/gather/gather.h"

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

// The middle and the half width of the interval of an operand: those of a function's domain, if it
// is not defined on all of (-1, 1).
struct Interval {
  double middle = 0, half_width = 1;
};

Interval DomainOf(const Op& op, Arg arg) {
  if (const auto* unary = dynamic_cast<const UnaryOp*>(&op); unary != nullptr && arg == Arg::kSrc) {
    const std::string_view name = unary->function().name;
    if (name == "acosh") return {2.5, 1};
    if (name == "log" || name == "sqrt" || name == "reciprocal") return {1.5, 1};
    if (name == "acos" || name == "asin" || name == "atanh") return {0, 0.9};
  }
  const auto* binary = dynamic_cast<const BinaryOp*>(&op);
  if (binary != nullptr && binary->function().name == "pow" && arg == binary->first_arg()) {
    return {1.5, 1};
  }
  return {};
}

std::vector<double> RealNumbers(const Operand& operand, const Interval& from, Random& random) {
  std::vector<double> values(static_cast<std::size_t>(operand.shape.elements()));
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (double& value : values) value = from.middle + from.half_width * uniform(random);
  return RoundedTo(operand.type, std::move(values));
}

}  // namespace

Values RandomInputs(const Op& op, const Execution& execution, std::uint64_t seed) {
  Values values;
  Random random(seed);
  const bool steps = op.kind() == "integer_steps";
  for (const Operand& operand : op.Operands(execution)) {
    if (operand.direction == Direction::kOut || operand.arg == Arg::kWorkspace) continue;
    const std::int64_t n = operand.shape.elements();
    std::vector<double>& of_operand = values[operand.arg];
    if (operand.arg == Arg::kLabels) {
      of_operand = WholeNumbers(n, random, 0, op.Find(execution, Arg::kSrc)->shape[1]);
    } else if (operand.arg == Arg::kStep) {
      of_operand = WholeNumbers(n, random, 0, 10);
    } else if (const auto* gather = dynamic_cast<const GatherOp*>(&op);
               gather != nullptr && operand.arg == gather->indices_arg()) {
      // (a narrow type represents whole numbers up to the reciprocal of its roundoff)
      const auto most = static_cast<std::int64_t>(1 / UnitRoundoff(operand.type));
      const std::int64_t extent = std::min(gather->extents().extent, most);
      of_operand = WholeNumbers(n, random, -extent, 2 * extent);
    } else if (operand.type == DataType::kU8 && !steps) {
      // 7 bits only: without VNNI the sum of two products has 16 bits and would saturate.
      of_operand = WholeNumbers(n, random, 0, 128);
    } else if (operand.type == DataType::kS8 && !steps) {
      of_operand = WholeNumbers(n, random, -64, 128);
    } else if (steps || operand.type == DataType::kS32 || operand.type == DataType::kS64) {
      of_operand = WholeNumbers(n, random, -1000, 2001);
    } else {
      of_operand = RealNumbers(operand, DomainOf(op, operand.arg), random);
    }
    if (operand.arg == Arg::kVariance || operand.arg == Arg::kSecondMoment) {
      for (double& value : of_operand) value = std::abs(value);
    }
  }
  return values;
}

Values Magnitudes(Values values) {
  for (auto& [arg, of_operand] : values) {
    if (arg == Arg::kLabels || arg == Arg::kStep) continue;
    for (double& v : of_operand) v = arg == Arg::kLearningRate ? -std::abs(v) : std::abs(v);
  }
  return values;
}

}  // namespace topdnn
