#include "kernels/eltwise/binary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

// A row from a function of (a, b) for any floating-point type.
template <typename Value>
constexpr BinaryFunction BinaryRow(std::string_view name, std::int64_t flops, Value /*value*/) {
  BinaryFunction row{};
  row.name = name;
  row.flops = flops;
  row.value = [](double a, double b) -> double { return Value()(a, b); };
  row.values = [](const float* a, std::int64_t step_a, const float* b, std::int64_t step_b,
                  std::int64_t n, float* dst) {
    // Constant steps, so that the compiler can vectorise the loops.
    if (step_a == 1 && step_b == 1) {  // NOLINT(bugprone-branch-clone): does not look into loops
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) dst[i] = Value()(a[i], b[i]);
    } else if (step_a == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) dst[i] = Value()(a[i], b[0]);
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) dst[i] = Value()(a[0], b[i * step_b]);
    }
  };
  return row;
}

// "mod" has the sign of the divisor, and "fmod" that of the dividend.
// A NaN in either tensor is a NaN in the maximum and minimum. A comparison is 1 or 0. "masked" is
// the second where the first is not 0, and 0 elsewhere, also where the second is NaN or infinite.
constexpr BinaryFunction kBinaryRows[] = {
    BinaryRow("add", 1, [](auto a, auto b) { return a + b; }),
    BinaryRow("div", 1, [](auto a, auto b) { return a / b; }),
    BinaryRow("equal", 1, [](auto a, auto b) { return decltype(a)(a == b); }),
    BinaryRow("fmod", 1, [](auto a, auto b) { return std::fmod(a, b); }),
    BinaryRow("greater", 1, [](auto a, auto b) { return decltype(a)(a > b); }),
    BinaryRow("greater_or_equal", 1, [](auto a, auto b) { return decltype(a)(a >= b); }),
    BinaryRow("less", 1, [](auto a, auto b) { return decltype(a)(a < b); }),
    BinaryRow("less_or_equal", 1, [](auto a, auto b) { return decltype(a)(a <= b); }),
    BinaryRow("masked", 1, [](auto a, auto b) { return a != 0 ? b : decltype(b){0}; }),
    BinaryRow("max", 1, [](auto a, auto b) { return a > b || a != a ? a : b; }),
    BinaryRow("min", 1, [](auto a, auto b) { return a < b || a != a ? a : b; }),
    BinaryRow("mod", 3,
              [](auto a, auto b) {
                const auto rest = std::fmod(a, b);
                return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
              }),
    BinaryRow("mul", 1, [](auto a, auto b) { return a * b; }),
    BinaryRow("not_equal", 1, [](auto a, auto b) { return decltype(a)(a != b); }),
    BinaryRow("pow", 1, [](auto a, auto b) { return std::pow(a, b); }),
    BinaryRow("prelu", 2, [](auto a, auto b) { return a < 0 ? a * b : a; }),
    BinaryRow("sub", 1, [](auto a, auto b) { return a - b; }),
};

Shape BroadcastShape(std::string_view name, const Shape& first, const Shape& second) {
  CheckExtents(name, first);
  CheckExtents(name, second);
  bool fits = first.rank() == second.rank();
  std::vector<std::int64_t> extents;
  for (int d = 0; fits && d < first.rank(); ++d) {
    fits = first[d] == second[d] || first[d] == 1 || second[d] == 1;
    extents.push_back(std::max(first[d], second[d]));
  }
  if (!fits) {
    throw std::invalid_argument(fmt::format("{} of {} and {}: the extents do not match", name,
                                            first.ToString(), second.ToString()));
  }
  Shape dst(std::move(extents));
  CheckExtents(name, dst);
  return dst;
}

}  // namespace

std::span<const BinaryFunction> BinaryFunctions() { return kBinaryRows; }

const BinaryFunction* FindBinaryFunction(std::string_view name) {
  const auto* row = std::find_if(std::begin(kBinaryRows), std::end(kBinaryRows),
                                 [&](const BinaryFunction& one) { return one.name == name; });
  return row == std::end(kBinaryRows) ? nullptr : row;
}

BinaryOp::BinaryOp(const BinaryFunction& function, Shape first, Shape second,
                   BinaryConstant constant, double initial)
    : function_(function),
      first_(std::move(first)),
      second_(std::move(second)),
      dst_(BroadcastShape(function.name, first_, second_)),
      constant_(constant),
      initial_(initial) {
  const bool by_channel =
      dst_.rank() > 1 && first_ == dst_ && second_[1] == dst_[1] && second_.elements() == dst_[1];
  if (is_trained() && !(by_channel && function.name == "mul")) {
    throw std::invalid_argument(
        fmt::format("{} of {} by a trained {}: it must be a product by (1, C, 1, ...)",
                    function.name, first_.ToString(), second_.ToString()));
  }
}

Arg BinaryOp::first_arg() const {
  if (constant_ == BinaryConstant::kNone) return IndexedSrc(0);
  return constant_ == BinaryConstant::kFirst ? Arg::kWeights : Arg::kSrc;
}

Arg BinaryOp::second_arg() const {
  if (constant_ == BinaryConstant::kNone) return IndexedSrc(1);
  return constant_ == BinaryConstant::kFirst ? Arg::kSrc : Arg::kWeights;
}

std::string BinaryOp::Problem() const {
  const char* const suffix = constant_ == BinaryConstant::kNone    ? ""
                             : constant_ == BinaryConstant::kFirst ? "_of"
                             : is_trained()                        ? "_trained"
                                                                   : "_constant";
  return fmt::format("{}{}_by{}{}", function_.name, first_.ToString(), second_.ToString(), suffix);
}

bool BinaryOp::HasGradients() const {
  if (is_trained()) return true;
  if (function_.name != "mul" || constant_ != BinaryConstant::kNone || first_ != dst_) return false;
  int d = 0;
  while (d < dst_.rank() && second_[d] == dst_[d]) ++d;
  while (d < dst_.rank() && second_[d] == 1) ++d;
  return d == dst_.rank();
}

bool BinaryOp::ScalesChannels() const {
  const bool constant = constant_ == BinaryConstant::kSecond || is_trained();
  return constant && function_.name == "mul" && first_ == dst_ && dst_.rank() > 1 &&
         second_[0] == 1 && second_[1] == dst_[1] && second_.elements() == dst_[1];
}

std::int64_t BinaryOp::AccumulationLength(Pass pass) const {
  return pass == Pass::kForward ? 1 : dst_.elements() / second_.elements();
}

std::vector<Operand> BinaryOp::Operands(const Execution& execution) const {
  if (!TypesOf(execution).has_gradients) return {};
  const DataType type = execution.type;
  if (execution.pass == Pass::kBackwardData && HasGradients()) {
    return {{first_arg(), Direction::kIn, first_, type},
            {second_arg(), Direction::kIn, second_, type},
            {Arg::kDiffDst, Direction::kIn, dst_, type},
            {diff_first_arg(), Direction::kOut, first_, type},
            {diff_second_arg(), Direction::kOut, second_,
             is_trained() ? TypesOf(execution).parameter : type}};
  }
  if (execution.pass != Pass::kForward) return {};
  return {{first_arg(), Direction::kIn, first_, type},
          {second_arg(), Direction::kIn, second_, type},
          {Arg::kDst, Direction::kOut, dst_, type}};
}

Arithmetic BinaryOp::ArithmeticOf(const Execution& execution) const {
  if (!Has(execution)) return {};
  // Backward: two products for each element, and the sums.
  return {.flops = execution.pass == Pass::kForward ? function_.flops * dst_.elements()
                                                    : 3 * dst_.elements() - second_.elements()};
}

std::vector<Parameter> BinaryOp::Parameters() const {
  if (constant_ == BinaryConstant::kNone) return {};
  const Shape& shape = constant_ == BinaryConstant::kFirst ? first_ : second_;
  return {{Arg::kWeights, Arg::kDiffWeights, "constant", shape, 0, initial_}};
}

namespace {

std::vector<std::string_view> BinaryNames() {
  std::vector<std::string_view> names;
  for (const BinaryFunction& row : kBinaryRows) names.push_back(row.name);
  return names;
}

std::shared_ptr<const Op> ParseBinary(const ProblemWord& word) {
  const BinaryFunction* function = FindBinaryFunction(word.name());
  if (function == nullptr) {
    throw std::invalid_argument(fmt::format("it must begin with one of {}",  //
                                            fmt::join(BinaryNames(), ", ")));
  }
  Shape second(word.WholeNumbers("by"));
  const BinaryConstant constant = word.Flag("of")         ? BinaryConstant::kFirst
                                  : word.Flag("constant") ? BinaryConstant::kSecond
                                  : word.Flag("trained")  ? BinaryConstant::kTrained
                                                          : BinaryConstant::kNone;
  return std::make_shared<BinaryOp>(*function, word.shape(), std::move(second), constant);
}

const ProblemRegistration kBinaryProblem("binary", ParseBinary, BinaryNames());

}  // namespace

}  // namespace topdnn
