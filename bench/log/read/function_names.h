// The names of functions in oneDNN's log, beside those of the same functions in topdnn's tables.

#ifndef TOPDNN_BENCH_LOG_READ_FUNCTION_NAMES_H_
#define TOPDNN_BENCH_LOG_READ_FUNCTION_NAMES_H_

#include <span>
#include <string_view>

namespace topdnn {

// Ends the name of a function of one tensor in a log if its gradient reads dst instead of src.
inline constexpr std::string_view kUseDstSuffix = "_use_dst_for_bwd";

struct FunctionNames {
  std::string_view in_log;  // "eltwise_gelu_erf"
  std::string_view own;     // "gelu"
};

// Functions of one tensor: kernels/eltwise/unary.h. Those that kernels/activation/ has, too, are
// not here. Of several names in a log for one function, the first is the one to write.
std::span<const FunctionNames> UnaryFunctionNames();
// Functions of two tensors: kernels/eltwise/binary.h.
std::span<const FunctionNames> BinaryFunctionNames();

// Empty for an unknown name.
std::string_view OwnName(std::span<const FunctionNames> names, std::string_view in_log);
std::string_view NameInLog(std::span<const FunctionNames> names, std::string_view own);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LOG_READ_FUNCTION_NAMES_H_
