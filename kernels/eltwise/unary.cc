#include "kernels/eltwise/unary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

// A row from two functions of (x, alpha, beta) for any floating-point type. The derivative is
// nullptr when there is none.
template <typename Value, typename Derivative>
constexpr UnaryFunction UnaryRow(std::string_view name, Value /*value*/, Derivative /*derivative*/,
                                 std::int64_t forward_flops, std::int64_t backward_flops,
                                 int parameters = 0, float alpha = 0, float beta = 0) {
  UnaryFunction row{};
  row.name = name;
  row.parameters = parameters;
  row.alpha = alpha;
  row.beta = beta;
  row.forward_flops = forward_flops;
  row.backward_flops = backward_flops;
  row.value = [](double x, double a, double b) -> double { return Value()(x, a, b); };
  row.values = [](const float* src, float a, float b, std::int64_t n, float* dst) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dst[i] = Value()(src[i], a, b);
  };
  if constexpr (!std::is_null_pointer_v<Derivative>) {
    row.derivative = [](double x, double a, double b) -> double { return Derivative()(x, a, b); };
    row.gradients = [](const float* src, const float* diff_dst, float a, float b, std::int64_t n,
                       float* diff_src) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) diff_src[i] = diff_dst[i] * Derivative()(src[i], a, b);
    };
  }
  return row;
}

template <typename T>
T Square(T x) {
  return x * x;
}

template <typename T>
T Logistic(T x) {
  return 1 / (1 + std::exp(-x));
}

// log(1 + exp(x)) without overflow.
template <typename T>
T Softplus(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

template <typename T>
T SwishDerivative(T x, T a) {
  const T y = Logistic(a * x);
  return y + a * x * y * (1 - y);
}

template <typename T>
T Clipped(T x) {
  return x < 0 ? T{0} : (x > 1 ? T{1} : x);
}

template <typename T>
T HardSwishDerivative(T x, T a, T b) {
  const T u = a * x + b;
  return u <= 0 ? T{0} : (u >= 1 ? T{1} : u + a * x);
}

constexpr double kRootOfHalf = 0.70710678118654752440;        // sqrt(1/2)
constexpr double kNormalDensityAt0 = 0.39894228040143267794;  // 1 / sqrt(2 pi)
constexpr double kGeluTanhFactor = 0.79788456080286535588;    // sqrt(2 / pi)
constexpr double kGeluTanhCubic = 0.044715;

template <typename T>
T GeluTanhArgument(T x) {
  return T{kGeluTanhFactor} * (x + T{kGeluTanhCubic} * x * x * x);
}

// The columns are the name, the value, the derivative, FLOPs forward and backward, the number of
// parameters, and their defaults.
#define TOPDNN_OF(expression)                                                             \
  []<typename T>([[maybe_unused]] T x, [[maybe_unused]] T a, [[maybe_unused]] T b) -> T { \
    return expression;                                                                    \
  }
constexpr UnaryFunction kRows[] = {
    UnaryRow("abs", TOPDNN_OF(std::abs(x)), TOPDNN_OF(x > 0 ? T{1} : (x < 0 ? T{-1} : T{0})), 1, 2),
    UnaryRow("acos", TOPDNN_OF(std::acos(x)), TOPDNN_OF(-1 / std::sqrt(1 - x * x)), 1, 5),
    UnaryRow("acosh", TOPDNN_OF(std::acosh(x)), TOPDNN_OF(1 / std::sqrt(x * x - 1)), 1, 5),
    UnaryRow("asin", TOPDNN_OF(std::asin(x)), TOPDNN_OF(1 / std::sqrt(1 - x * x)), 1, 5),
    UnaryRow("asinh", TOPDNN_OF(std::asinh(x)), TOPDNN_OF(1 / std::sqrt(x * x + 1)), 1, 5),
    UnaryRow("atan", TOPDNN_OF(std::atan(x)), TOPDNN_OF(1 / (1 + x * x)), 1, 4),
    UnaryRow("atanh", TOPDNN_OF(std::atanh(x)), TOPDNN_OF(1 / (1 - x * x)), 1, 4),
    UnaryRow("ceil", TOPDNN_OF(std::ceil(x)), nullptr, 1, 0),
    UnaryRow("celu", TOPDNN_OF(x > 0 ? x : a * std::expm1(x / a)),
             TOPDNN_OF(x > 0 ? T{1} : std::exp(x / a)), 4, 4, 1, 1.0F),
    UnaryRow("cos", TOPDNN_OF(std::cos(x)), TOPDNN_OF(-std::sin(x)), 1, 2),
    UnaryRow("cosh", TOPDNN_OF(std::cosh(x)), TOPDNN_OF(std::sinh(x)), 1, 2),
    UnaryRow("elu", TOPDNN_OF(x < 0 ? a * std::expm1(x) : x),
             TOPDNN_OF(x < 0 ? a * std::exp(x) : T{1}), 3, 4, 1, 1.0F),
    UnaryRow("erf", TOPDNN_OF(std::erf(x)),
             TOPDNN_OF(T{2 * kRootOfHalf} * T{2 * kNormalDensityAt0} * std::exp(-x * x)), 1, 4),
    UnaryRow("exp", TOPDNN_OF(std::exp(x)), TOPDNN_OF(std::exp(x)), 1, 2),
    UnaryRow("floor", TOPDNN_OF(std::floor(x)), nullptr, 1, 0),
    UnaryRow("gelu", TOPDNN_OF(T{0.5} * x * (1 + std::erf(x * T{kRootOfHalf}))),
             TOPDNN_OF(T{0.5} * (1 + std::erf(x * T{kRootOfHalf})) +
                       x * T{kNormalDensityAt0} * std::exp(T{-0.5} * x * x)),
             5, 11),
    UnaryRow("gelu_tanh", TOPDNN_OF(T{0.5} * x * (1 + std::tanh(GeluTanhArgument(x)))),
             TOPDNN_OF(T{0.5} * (1 + std::tanh(GeluTanhArgument(x))) +
                       T{0.5} * x * (1 - Square(std::tanh(GeluTanhArgument(x)))) *
                           T{kGeluTanhFactor} * (1 + 3 * T{kGeluTanhCubic} * x * x)),
             9, 18),
    UnaryRow("hard_swish", TOPDNN_OF((x * Clipped(a * x + b))),
             TOPDNN_OF(HardSwishDerivative(x, a, b)), 5, 8, 2, 1.0F / 6, 0.5F),
    UnaryRow("leaky_relu", TOPDNN_OF(x < 0 ? a * x : x), TOPDNN_OF(x < 0 ? a : T{1}), 2, 2, 1,
             0.01F),
    UnaryRow("log", TOPDNN_OF(std::log(x)), TOPDNN_OF(1 / x), 1, 2),
    UnaryRow(
        "mish", TOPDNN_OF((x * std::tanh(Softplus(x)))),
        TOPDNN_OF(std::tanh(Softplus(x)) + x * (1 - Square(std::tanh(Softplus(x)))) * Logistic(x)),
        5, 13),
    UnaryRow("neg", TOPDNN_OF(-x), TOPDNN_OF(T{-1}), 1, 1),
    UnaryRow("reciprocal", TOPDNN_OF(1 / x), TOPDNN_OF(-1 / (x * x)), 1, 4),
    UnaryRow("round", TOPDNN_OF(std::nearbyint(x)), nullptr, 1, 0),
    UnaryRow("selu", TOPDNN_OF(x > 0 ? b * x : b * a * std::expm1(x)),
             TOPDNN_OF(x > 0 ? b : b * a * std::exp(x)), 4, 5, 2, 1.67326319217681884765625F,
             1.05070102214813232421875F),
    UnaryRow("shrink", TOPDNN_OF(x < -b ? x + a : (x > b ? x - a : 0 * x)),
             TOPDNN_OF(std::abs(x) > b ? T{1} : T{0}), 3, 3, 2, 0.0F, 0.5F),
    UnaryRow("sign", TOPDNN_OF(x > 0 ? T{1} : (x < 0 ? T{-1} : x)), nullptr, 2, 0),
    UnaryRow("sin", TOPDNN_OF(std::sin(x)), TOPDNN_OF(std::cos(x)), 1, 2),
    UnaryRow("sinh", TOPDNN_OF(std::sinh(x)), TOPDNN_OF(std::cosh(x)), 1, 2),
    UnaryRow("softplus", TOPDNN_OF(Softplus(x)), TOPDNN_OF(Logistic(x)), 3, 4),
    UnaryRow("softsign", TOPDNN_OF(x / (1 + std::abs(x))), TOPDNN_OF(1 / Square(1 + std::abs(x))),
             3, 5),
    UnaryRow("sqrt", TOPDNN_OF(std::sqrt(x)), TOPDNN_OF(T{0.5} / std::sqrt(x)), 1, 3),
    UnaryRow("square", TOPDNN_OF(Square(x)), TOPDNN_OF(2 * x), 1, 2),
    UnaryRow("swish", TOPDNN_OF(x* Logistic(a* x)), TOPDNN_OF(SwishDerivative(x, a)), 5, 9, 1,
             1.0F),
    UnaryRow("tan", TOPDNN_OF(std::tan(x)), TOPDNN_OF(1 + Square(std::tan(x))), 1, 4),
    UnaryRow("tanh", TOPDNN_OF(std::tanh(x)), TOPDNN_OF(1 - Square(std::tanh(x))), 1, 4),
    UnaryRow("thresholded_relu", TOPDNN_OF(x <= a ? T{0} : x), TOPDNN_OF(x <= a ? T{0} : T{1}), 1,
             2, 1, 1.0F),
    UnaryRow("trunc", TOPDNN_OF(std::trunc(x)), nullptr, 1, 0),
};
#undef TOPDNN_OF

const UnaryFunction& RowNamed(std::string_view name) {
  const UnaryFunction* function = FindUnaryFunction(name);
  if (function == nullptr) {
    throw std::invalid_argument(fmt::format("there is no element-wise function '{}'", name));
  }
  return *function;
}

}  // namespace

std::span<const UnaryFunction> UnaryFunctions() { return kRows; }

const UnaryFunction* FindUnaryFunction(std::string_view name) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const UnaryFunction& one) { return one.name == name; });
  return row == std::end(kRows) ? nullptr : row;
}

UnaryOp::UnaryOp(const UnaryFunction& function, Shape shape, float alpha, float beta)
    : function_(function), shape_(std::move(shape)), alpha_(alpha), beta_(beta) {
  CheckExtents(function.name, shape_);
  if (!std::isfinite(alpha) || !std::isfinite(beta)) {
    throw std::invalid_argument(fmt::format("{} with alpha {} and beta {}: both must be finite",
                                            function.name, alpha, beta));
  }
}

UnaryOp::UnaryOp(std::string_view function, Shape shape)
    : UnaryOp(RowNamed(function), std::move(shape), RowNamed(function).alpha,
              RowNamed(function).beta) {}

std::string UnaryOp::Problem() const {
  std::string problem = fmt::format("{}{}", function_.name, shape_.ToString());
  if (function_.parameters > 0) problem += fmt::format("_alpha{}", alpha_);
  if (function_.parameters > 1) problem += fmt::format("_beta{}", beta_);
  return problem;
}

std::vector<Operand> UnaryOp::Operands(const Execution& execution) const {
  const DataType type = execution.type;
  if (!TypesOf(execution).has_gradients) return {};  // int8
  if (execution.pass == Pass::kForward) {
    return {{Arg::kSrc, Direction::kIn, shape_, type}, {Arg::kDst, Direction::kOut, shape_, type}};
  }
  if (execution.pass == Pass::kBackwardWeights || function_.derivative == nullptr) return {};
  return {{Arg::kSrc, Direction::kIn, shape_, type},
          {Arg::kDiffDst, Direction::kIn, shape_, type},
          {Arg::kDiffSrc, Direction::kOut, shape_, type}};
}

Arithmetic UnaryOp::ArithmeticOf(const Execution& execution) const {
  if (!Has(execution)) return {};
  return {.flops =
              shape_.elements() * (execution.pass == Pass::kForward ? function_.forward_flops
                                                                    : function_.backward_flops)};
}

namespace {

std::vector<std::string_view> UnaryNames() {
  std::vector<std::string_view> names;
  for (const UnaryFunction& row : kRows) names.push_back(row.name);
  return names;
}

std::shared_ptr<const Op> ParseUnary(const ProblemWord& word) {
  const UnaryFunction& row = RowNamed(word.name());
  return std::make_shared<UnaryOp>(row, word.shape(),
                                   row.parameters > 0 ? word.NumberOr("alpha", row.alpha) : 0.0F,
                                   row.parameters > 1 ? word.NumberOr("beta", row.beta) : 0.0F);
}

const ProblemRegistration kUnaryProblem("unary", ParseUnary, UnaryNames());

}  // namespace

}  // namespace topdnn
