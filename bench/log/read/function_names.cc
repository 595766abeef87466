#include "bench/log/read/function_names.h"

namespace topdnn {

namespace {

// Source: the formulas of oneDNN's developer guide (Eltwise, Binary), versions 2.6 and 3.3.
constexpr FunctionNames kUnaryFunctionNames[] = {
    {"eltwise_abs", "abs"},
    {"eltwise_elu", "elu"},
    {"eltwise_exp", "exp"},
    {"eltwise_gelu_erf", "gelu"},
    {"eltwise_gelu_tanh", "gelu_tanh"},
    {"eltwise_gelu", "gelu_tanh"},
    {"eltwise_hardswish", "hard_swish"},
    {"eltwise_log", "log"},
    {"eltwise_mish", "mish"},
    {"eltwise_relu", "leaky_relu"},
    {"eltwise_round", "round"},
    {"eltwise_soft_relu", "softplus"},
    {"eltwise_soft_relu_v2", "softplus"},
    {"eltwise_sqrt", "sqrt"},
    {"eltwise_square", "square"},
    {"eltwise_swish", "swish"},
    {"eltwise_tanh", "tanh"},
};

constexpr FunctionNames kBinaryFunctionNames[] = {
    {"binary_add", "add"},      {"binary_div", "div"},
    {"binary_eq", "equal"},     {"binary_ge", "greater_or_equal"},
    {"binary_gt", "greater"},   {"binary_le", "less_or_equal"},
    {"binary_lt", "less"},      {"binary_max", "max"},
    {"binary_min", "min"},      {"binary_mul", "mul"},
    {"binary_ne", "not_equal"}, {"binary_sub", "sub"},
};

}  // namespace

std::span<const FunctionNames> UnaryFunctionNames() { return kUnaryFunctionNames; }

std::span<const FunctionNames> BinaryFunctionNames() { return kBinaryFunctionNames; }

std::string_view OwnName(std::span<const FunctionNames> names, std::string_view in_log) {
  for (const FunctionNames& function : names) {
    if (function.in_log == in_log) return function.own;
  }
  return {};
}

std::string_view NameInLog(std::span<const FunctionNames> names, std::string_view own) {
  for (const FunctionNames& function : names) {
    if (function.own == own) return function.in_log;
  }
  return {};
}

}  // namespace topdnn
