// Rows of the drivers whose problems have letters: "mb2ic3oc64_ih224kh7".

#include <fmt/format.h>

#include <utility>

#include "bench/benchdnn/benchdnn_descriptor.h"
#include "bench/benchdnn/benchdnn_rows.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

bool IsInteger(std::string_view type) { return type == "u8" || type == "s8"; }

// src, weights, bias and dst. Without its own option, the bias has the type of the weights, or f32
// if those are integers. (oneDNN 3.3: bia_dt() of tests/benchdnn/conv/conv.hpp; recent
// versions with --bia-dt: f32)
void AddProduct(const BenchdnnChoice& choice, const std::vector<std::string>& types, int src_rank,
                int weights_rank, int dst_rank, TraceRow& row) {
  const BenchdnnDirection direction = ParseDirection(At(choice, "dir"));
  row.prop_kind = direction.prop_kind;
  // Integers have no training.
  if (IsInteger(types[0]) && row.prop_kind == "forward_training") {
    row.prop_kind = "forward_inference";
  }
  std::string bias = ParseTypes(At(choice, "bia_dt"), 1).front();
  if (direction.bias && bias == "undef") bias = IsInteger(types[1]) ? "f32" : types[1];
  row.tensors = {TensorOf("src", types[0], At(choice, "stag"), src_rank),
                 TensorOf("wei", types[1], At(choice, "wtag"), weights_rank),
                 TensorOf("bia", bias, "a", 1),
                 TensorOf("dst", types[2], At(choice, "dtag"), dst_rank)};
}

// `name`: "convolution" or "deconvolution". `chosen`: whether it has the algorithm AUTO.
TraceRow ProductOfWindows(const BenchdnnChoice& choice, std::string_view text, DescriptorForm form,
                          std::string_view name, bool chosen) {
  const BenchdnnDescriptor problem = ParseDescriptor(text, form, MinibatchOf(choice));
  const BenchdnnConfiguration configuration = TypesOf(choice, 3);
  std::string algorithm = LowerCase(At(choice, "alg"));
  if (algorithm.starts_with(name)) algorithm.erase(0, name.size() + 1);  // "convolution_direct"
  TraceRow row = RowWith(choice, problem.spatial + 2);
  row.problem = problem.problem;
  if (algorithm == "wino" || configuration.winograd) {
    row.auxiliary = fmt::format("alg:{}_winograd", name);
  } else if (algorithm == "direct" || (chosen && algorithm == "auto")) {
    row.auxiliary = fmt::format("alg:{}_direct", name);
  } else {
    throw BenchdnnError(fmt::format("--alg={} is unknown; use {}", OneLine(algorithm),
                                    chosen ? "DIRECT, WINO or AUTO" : "DIRECT or WINO"));
  }
  const int rank = problem.spatial + 2;
  AddProduct(choice, configuration.types, rank, problem.groups > 1 ? rank + 1 : rank, rank, row);
  return row;
}

}  // namespace

TraceRow ConvolutionRow(const BenchdnnChoice& choice, std::string_view text) {
  TraceRow row =
      ProductOfWindows(choice, text, DescriptorForm::kConvolution, "convolution", /*chosen=*/true);
  AddUnsupported(choice, {"strides"}, row);
  return row;
}

TraceRow DeconvolutionRow(const BenchdnnChoice& choice, std::string_view text) {
  return ProductOfWindows(choice, text, DescriptorForm::kDeconvolution, "deconvolution",
                          /*chosen=*/false);
}

TraceRow InnerProductRow(const BenchdnnChoice& choice, std::string_view text) {
  const BenchdnnDescriptor problem =
      ParseDescriptor(text, DescriptorForm::kInnerProduct, MinibatchOf(choice));
  TraceRow row = RowWith(choice, 2);
  row.problem = problem.problem;
  AddProduct(choice, TypesOf(choice, 3).types, problem.spatial + 2, problem.spatial + 2, 2, row);
  return row;
}

// The result of a pooling, a resampling or a normalization has the layout of its source.
TraceRow PoolingRow(const BenchdnnChoice& choice, std::string_view text) {
  const BenchdnnDescriptor problem =
      ParseDescriptor(text, DescriptorForm::kPooling, MinibatchOf(choice));
  const std::vector<std::string> types = TypesOf(choice, 2).types;
  static constexpr std::pair<std::string_view, std::string_view> kAlgorithms[] = {
      {"max", "pooling_max"},
      {"avg_np", "pooling_avg_exclude_padding"},
      {"avg_p", "pooling_avg_include_padding"}};
  TraceRow row = RowWith(choice, problem.spatial + 2);
  const std::string algorithm = LowerCase(At(choice, "alg"));
  for (const auto& [name, in_log] : kAlgorithms) {
    if (algorithm == name || algorithm == in_log) row.auxiliary = fmt::format("alg:{}", in_log);
  }
  if (row.auxiliary.empty()) {
    throw BenchdnnError(
        fmt::format("--alg={} is unknown; use max, avg_np or avg_p", OneLine(algorithm)));
  }
  row.problem = problem.problem;
  row.prop_kind = ParseDirection(At(choice, "dir")).prop_kind;
  const int rank = problem.spatial + 2;
  row.tensors = {TensorOf("src", types[0], At(choice, "tag"), rank),
                 TensorOf("dst", types[1], At(choice, "tag"), rank)};
  return row;
}

TraceRow ResamplingRow(const BenchdnnChoice& choice, std::string_view text) {
  const BenchdnnDescriptor problem =
      ParseDescriptor(text, DescriptorForm::kResampling, MinibatchOf(choice));
  TraceRow row = RowWith(choice, problem.spatial + 2);
  const std::string algorithm = LowerCase(At(choice, "alg"));
  row.auxiliary =
      algorithm.starts_with("resampling_") ? "alg:" + algorithm : "alg:resampling_" + algorithm;
  if (row.auxiliary != "alg:resampling_nearest" && row.auxiliary != "alg:resampling_linear") {
    throw BenchdnnError(
        fmt::format("--alg={} is unknown; use nearest or linear", OneLine(algorithm)));
  }
  row.problem = problem.problem;
  row.prop_kind = ParseDirection(At(choice, "dir")).prop_kind;
  const int rank = problem.spatial + 2;
  const std::string& both = At(choice, "dt");
  const auto type = [&](std::string_view name) {
    return ParseTypes(At(choice, name).empty() ? both : At(choice, name), 1).front();
  };
  row.tensors = {TensorOf("src", type("sdt"), At(choice, "tag"), rank),
                 TensorOf("dst", type("ddt"), At(choice, "tag"), rank)};
  return row;
}

TraceRow BatchNormRow(const BenchdnnChoice& choice, std::string_view text) {
  const BenchdnnDescriptor problem =
      ParseDescriptor(text, DescriptorForm::kBatchNorm, MinibatchOf(choice));
  const std::string& flags = At(choice, "flags");
  if (flags.find_first_not_of("GSCHRA") != std::string::npos) {
    throw BenchdnnError(
        fmt::format("--flags={} is unknown; use letters of G, S, C, H, R and A", OneLine(flags)));
  }
  TraceRow row = RowWith(choice, problem.spatial + 2);
  row.problem = problem.problem;
  row.auxiliary = "flags:" + flags;
  AddDataAndDiff(choice, problem.spatial + 2, row);
  return row;
}

TraceRow LrnRow(const BenchdnnChoice& choice, std::string_view text) {
  const BenchdnnDescriptor problem =
      ParseDescriptor(text, DescriptorForm::kLrn, MinibatchOf(choice));
  const std::string algorithm = LowerCase(At(choice, "alg"));
  TraceRow row = RowWith(choice, problem.spatial + 2);
  if (algorithm == "across") {
    row.auxiliary = "alg:lrn_across_channels";
  } else if (algorithm == "within") {
    row.auxiliary = "alg:lrn_within_channel";
  } else {
    throw BenchdnnError(
        fmt::format("--alg={} is unknown; use ACROSS or WITHIN", OneLine(algorithm)));
  }
  row.problem = problem.problem;
  AddDataAndDiff(choice, problem.spatial + 2, row);
  return row;
}

}  // namespace topdnn
