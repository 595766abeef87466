// The values of benchdnn's options, as oneDNN's log spells them: directions, types, layouts,
// post-ops.

#ifndef TOPDNN_BENCH_TRACES_BENCHDNN_VALUES_H_
#define TOPDNN_BENCH_TRACES_BENCHDNN_VALUES_H_

#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// Each throws BenchdnnError for a text that benchdnn does not know.

struct BenchdnnDirection {
  std::string prop_kind;  // "forward_training"
  bool bias = false;
};
// "FWD_B", in any case.
BenchdnnDirection ParseDirection(std::string_view text);

// "f32:s8:f32" as three types; one type stands for all `count`. A count of 0: as many as there are.
std::vector<std::string> ParseTypes(std::string_view text, std::size_t count);
// "u8s8s32", "f32", "f32_wino" of oneDNN 2: src, weights and dst, or `count` others.
struct BenchdnnConfiguration {
  std::vector<std::string> types;
  bool winograd = false;
};
BenchdnnConfiguration ParseConfiguration(std::string_view text, std::size_t count);

// "acdb" of "nhwc", "axb" or "acdb" for a tensor of this rank; "any" and "undef" unchanged. A tag
// of another tensor (of a recurrent network) is returned as it is.
std::string LayoutTag(std::string_view text, int rank);

// "eltwise_relu:0:0" of "relu:0:0"; "" for an unknown name. `text` may have numbers after a colon.
std::string LongEltwiseName(std::string_view text);
// "relu" of "eltwise_relu", and "relu_dst" of "eltwise_relu_use_dst_for_bwd".
std::string ShortEltwiseName(std::string_view text);

// "binary_add" of "ADD", and "reduction_mean" of "mean"; the long names are also read.
std::string BinaryAlgorithm(std::string_view text);
std::string ReductionAlgorithm(std::string_view text);

// The text, which must be a number ("--NAME=TEXT").
const std::string& NumberText(std::string_view name, const std::string& text);

// "attr-post-ops:sum+eltwise_relu" of "sum+relu" or "sum;relu"; "" of "".
std::string PostOpsAttribute(std::string_view text);
std::string LowerCase(std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_TRACES_BENCHDNN_VALUES_H_
