#include "kernels/reduce/reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A row from functions of (result, element, shift) and of (result, shift).
template <typename Combine, typename Finish>
constexpr ReduceDefinition MakeRow(ReduceAlgorithm algorithm, std::string_view name,
                                   std::int64_t flops_per_element, std::int64_t flops_per_result,
                                   double initial, Combine /*combine*/, Finish /*finish*/) {
  ReduceDefinition row{algorithm, name,    flops_per_element, flops_per_result,
                       initial,   nullptr, nullptr,           nullptr};
  row.combine = [](double r, double x, double shift) { return Combine()(r, x, shift); };
  row.finish = [](double r, double shift) { return Finish()(r, shift); };
  row.combine_row = [](const float* elements, std::int64_t n, double shift, double* results,
                       std::int64_t step) {
    if (step == 0) {
      double result = *results;
      for (std::int64_t i = 0; i < n; ++i) {
        result = Combine()(result, static_cast<double>(elements[i]), shift);
      }
      *results = result;
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        results[i] = Combine()(results[i], static_cast<double>(elements[i]), shift);
      }
    }
  };
  return row;
}

// For an algorithm without a last step: the result is the combined value.
constexpr auto kAsItIs = [](double r, double /*shift*/) { return r; };
constexpr auto kAddElement = [](double r, double x, double /*shift*/) { return r + x; };

// The kernels do the division of a mean. If an element is NaN, the result is NaN.
constexpr ReduceDefinition kDefinitions[] = {
    MakeRow(ReduceAlgorithm::kSum, "sum", 1, 0, 0, kAddElement, kAsItIs),
    MakeRow(ReduceAlgorithm::kMean, "mean", 1, 1, 0, kAddElement, kAsItIs),
    MakeRow(
        ReduceAlgorithm::kMax, "max", 1, 0, -kInfinity,
        [](double r, double x, double) { return x > r || x != x ? x : r; }, kAsItIs),
    MakeRow(
        ReduceAlgorithm::kMin, "min", 1, 0, kInfinity,
        [](double r, double x, double) { return x < r || x != x ? x : r; }, kAsItIs),
    MakeRow(
        ReduceAlgorithm::kProduct, "product", 1, 0, 1,
        [](double r, double x, double) { return r * x; }, kAsItIs),
    MakeRow(
        ReduceAlgorithm::kL1, "l1", 2, 0, 0,
        [](double r, double x, double) { return r + std::abs(x); }, kAsItIs),
    MakeRow(
        ReduceAlgorithm::kL2, "l2", 2, 1, 0, [](double r, double x, double) { return r + x * x; },
        [](double r, double) { return std::sqrt(r); }),
    MakeRow(
        ReduceAlgorithm::kSumSquare, "sum_square", 2, 0, 0,
        [](double r, double x, double) { return r + x * x; }, kAsItIs),
    MakeRow(ReduceAlgorithm::kLogSum, "log_sum", 1, 1, 0, kAddElement,
            [](double r, double) { return std::log(r); }),
    MakeRow(
        ReduceAlgorithm::kLogSumExp, "log_sum_exp", 4, 2, 0,
        [](double r, double x, double shift) { return r + std::exp(x - shift); },
        [](double r, double shift) { return std::log(r) + shift; }),
};

}  // namespace

const ReduceDefinition& DefinitionOf(ReduceAlgorithm algorithm) {
  return *std::find_if(std::begin(kDefinitions), std::end(kDefinitions),
                       [&](const ReduceDefinition& row) { return row.algorithm == algorithm; });
}

std::string_view NameOf(ReduceAlgorithm algorithm) { return DefinitionOf(algorithm).name; }

ReduceOp::ReduceOp(ReduceAlgorithm algorithm, Shape shape, std::vector<int> axes, bool keep_dims)
    : algorithm_(algorithm),
      shape_(std::move(shape)),
      reduced_(static_cast<std::size_t>(shape_.rank()), false),
      keep_dims_(keep_dims) {
  CheckExtents(NameOf(algorithm), shape_);
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("{} of {} over axes {}: {}", NameOf(algorithm),
                                            shape_.ToString(), fmt::join(axes, ","), why));
  };
  if (shape_.rank() > kMaxAxes)
    refuse(fmt::format("at most {} dimensions are supported", kMaxAxes));
  if (axes.empty()) refuse("give one axis or more");
  for (const int axis : axes) {
    if (axis < 0 || axis >= shape_.rank()) refuse(fmt::format("there is no axis {}", axis));
    if (Reduces(axis)) refuse(fmt::format("duplicate axis {}", axis));
    reduced_[static_cast<std::size_t>(axis)] = true;
  }
}

Shape ReduceOp::kept_shape() const {
  std::vector<std::int64_t> extents = shape_.extents();
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (reduced_[d]) extents[d] = 1;
  }
  return Shape(std::move(extents));
}

Shape ReduceOp::dst_shape() const {
  if (keep_dims_) return kept_shape();
  std::vector<std::int64_t> extents;
  for (int d = 0; d < shape_.rank(); ++d) {
    if (!Reduces(d)) extents.push_back(shape_[d]);
  }
  return Shape(std::move(extents));
}

std::string ReduceOp::Problem() const {
  std::string axes;
  for (int d = 0; d < shape_.rank(); ++d) {
    if (Reduces(d)) axes += static_cast<char>('a' + d);
  }
  return fmt::format("{}{}_{}{}", NameOf(algorithm_), shape_.ToString(), axes,
                     keep_dims_ ? "_keep" : "");
}

std::vector<Operand> ReduceOp::Operands(const Execution& execution) const {
  const bool floating = TypesOf(execution).has_gradients;
  if (execution.pass != Pass::kForward && !(floating && IsLinear())) return {};
  if (!floating && !IsLinear()) return {};
  return UnaryOperands(execution, shape_, dst_shape());
}

Arithmetic ReduceOp::ArithmeticOf(const Execution& execution) const {
  if (execution.pass == Pass::kBackwardWeights) return {};
  const ReduceDefinition& definition = DefinitionOf(algorithm_);
  Arithmetic work;
  if (execution.pass == Pass::kForward)
    work.flops = definition.flops_per_element * shape_.elements();
  work.flops += definition.flops_per_result * dst_shape().elements();
  return work;
}

namespace {

// The axes named in the word. Tries all combinations of letters until the word contains one.
std::vector<int> AxesOf(const ProblemWord& word, int rank) {
  std::vector<int> found;
  for (unsigned combination = 1; combination < 1U << rank; ++combination) {
    std::vector<int> axes;
    std::string letters;
    for (int d = 0; d < rank; ++d) {
      if ((combination >> d & 1) == 0) continue;
      axes.push_back(d);
      letters += static_cast<char>('a' + d);
    }
    if (!word.Flag(letters)) continue;
    if (!found.empty()) throw std::invalid_argument("write all axes in one flag, such as _cd");
    found = std::move(axes);
  }
  if (found.empty()) throw std::invalid_argument("missing axes, such as _cd for the last two of 4");
  return found;
}

std::shared_ptr<const Op> ParseReduce(const ProblemWord& word) {
  const Shape shape = word.shape();
  if (shape.rank() > ReduceOp::kMaxAxes) {
    throw std::invalid_argument(
        fmt::format("at most {} dimensions are supported", ReduceOp::kMaxAxes));
  }
  const auto* row =
      std::find_if(std::begin(kDefinitions), std::end(kDefinitions),
                   [&](const ReduceDefinition& one) { return one.name == word.name(); });
  if (row == std::end(kDefinitions)) {
    throw std::invalid_argument("it must begin with its algorithm, such as mean8x64x7x7_cd");
  }
  return std::make_shared<ReduceOp>(row->algorithm, shape, AxesOf(word, shape.rank()),
                                    word.Flag("keep"));
}

std::vector<std::string_view> ReduceNames() {
  std::vector<std::string_view> names;
  for (const ReduceDefinition& row : kDefinitions) names.push_back(row.name);
  return names;
}

const ProblemRegistration kReduceProblem("reduce", ParseReduce, ReduceNames());

}  // namespace

}  // namespace topdnn
