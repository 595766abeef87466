// The values of benchdnn's options, as oneDNN's log spells them: directions, types, layouts,
// post-ops.

#ifndef TOPDNN_BENCH_BENCHDNN_BENCHDNN_VALUES_H_
#define TOPDNN_BENCH_BENCHDNN_BENCHDNN_VALUES_H_

#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// The functions throw BenchdnnError for a text that benchdnn does not know, unless noted otherwise.

struct BenchdnnDirection {
  std::string prop_kind;  // "forward_training"
  bool bias = false;
};
// "FWD_B", in upper or lower case.
BenchdnnDirection ParseDirection(std::string_view text);

// "f32:s8:f32" as three types; one type stands for all `count`. A count of 0: as many as there are.
std::vector<std::string> ParseTypes(std::string_view text, std::size_t count);
// "u8s8s32", "f32", "f32_wino" of oneDNN 2: src, weights and dst, or `count` others.
struct BenchdnnConfiguration {
  std::vector<std::string> types;
  bool winograd = false;
};
BenchdnnConfiguration ParseConfiguration(std::string_view text, std::size_t count);

// The tag in letters, for a tensor of this rank: "acdb" for "nhwc", "axb" or "acdb"; "any" and
// "undef" unchanged. A tag of another tensor (of a recurrent network) is returned as it is.
std::string LayoutTag(std::string_view text, int rank);

// "eltwise_relu" for "relu"; "" for an unknown name.
std::string LongEltwiseName(std::string_view text);
// "relu" for "eltwise_relu", and "relu_dst" for "eltwise_relu_use_dst_for_bwd". Not checked.
std::string ShortEltwiseName(std::string_view text);

// "binary_add" for "ADD", and "reduction_mean" for "mean"; the long names are also read.
std::string BinaryAlgorithm(std::string_view text);
std::string ReductionAlgorithm(std::string_view text);

// The text, which must be a number ("--NAME=TEXT").
const std::string& NumberText(std::string_view name, const std::string& text);

// "attr-post-ops:sum+eltwise_relu" for "sum+relu" or "sum;relu"; "" for "". For a result of this
// rank.
std::string PostOpsAttribute(std::string_view text, int rank);
std::string LowerCase(std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHDNN_BENCHDNN_VALUES_H_
