#include "bench/benchdnn/benchdnn_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <utility>

#include "bench/benchdnn/benchdnn_descriptor.h"
#include "bench/log/read/function_names.h"
#include "harness/text/one_line.h"
#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

[[noreturn]] void RefuseValue(std::string_view what, std::string_view text, std::string_view fix) {
  throw BenchdnnError(fmt::format("'{}' is not {}; {}", OneLine(text), what, fix));
}

// No name begins with another one, so ParseConfiguration can split u8s8s32.
constexpr std::string_view kTypes[] = {"bf16", "f16",     "f32",     "f64",     "s32",
                                       "s16",  "s8",      "u8",      "s4",      "u4",
                                       "tf32", "f8_e5m2", "f8_e4m3", "boolean", "undef"};

bool IsType(std::string_view text) {
  return std::find(std::begin(kTypes), std::end(kTypes), text) != std::end(kTypes);
}

// The functions of benchdnn's post-ops and of its element-wise driver (knobs_attr.md).
constexpr std::string_view kEltwise[] = {
    "abs",        "bounded_relu", "clip",        "clip_v2",   "elu",    "exp",       "gelu",
    "gelu_erf",   "gelu_tanh",    "hardsigmoid", "hardswish", "linear", "log",       "logistic",
    "logsigmoid", "mish",         "pow",         "relu",      "round",  "soft_relu", "soft_relu_v2",
    "sqrt",       "square",       "swish",       "tanh"};
constexpr std::string_view kBinary[] = {"add", "div", "eq",  "ge", "gt",  "le",    "lt",
                                        "max", "min", "mul", "ne", "sub", "select"};
constexpr std::string_view kReductions[] = {"max",
                                            "min",
                                            "sum",
                                            "mul",
                                            "mean",
                                            "norm_lp_max",
                                            "norm_lp_sum",
                                            "norm_lp_power_p_max",
                                            "norm_lp_power_p_sum"};
constexpr std::string_view kFromDst = "_dst";
constexpr std::string_view kEltwisePrefix = "eltwise_";

template <std::size_t n>
bool IsOneOf(std::string_view text, const std::string_view (&names)[n]) {
  return std::find(std::begin(names), std::end(names), text) != std::end(names);
}

void ReplaceSuffix(std::string& text, std::string_view suffix, std::string_view other) {
  if (!text.ends_with(suffix)) return;
  text.resize(text.size() - suffix.size());
  text += other;
}

// The mask of a policy, bit d for dimension d; a number is one (get_default_mask() of
// tests/benchdnn/dnn_types.cpp).
std::string MaskText(std::string_view policy) {
  static constexpr std::pair<std::string_view, int> kPolicies[] = {{"common", 0},
                                                                   {"per_dim_0", 1},
                                                                   {"per_dim_1", 2},
                                                                   {"per_oc", 2},
                                                                   {"per_ocic", 3},
                                                                   {"per_dim_01", 3},
                                                                   {"per_dim_2", 4},
                                                                   {"per_dim_3", 8},
                                                                   {"per_spatial", 12},
                                                                   {"per_mb_spatial", 13},
                                                                   {"per_tensor", (1 << 12) - 1}};
  const std::string lower = LowerCase(policy);
  for (const auto& [name, mask] : kPolicies) {
    if (name == lower) return fmt::format("{}", mask);
  }
  if (ParseNumber<int>(policy) >= 0) return std::string(policy);
  RefuseValue("a mask of a post-op", policy, "use common, per_oc, per_tensor or a number");
}

// The arguments ":f32:per_oc:axb" of a post-op as the log writes them, with the mask as a number at
// this place. Without a mask it is that of `common`.
std::string WithMask(std::string_view arguments, std::size_t place, int rank) {
  std::vector<std::string_view> parts = SplitText(arguments, ":");
  if (parts.size() < place) return std::string(arguments);
  parts.resize(std::max(parts.size(), place + 1), "common");
  std::string text;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    text += ":" + (i == place  ? MaskText(parts[i])
                   : i > place ? LayoutTag(parts[i], rank)
                               : std::string(parts[i]));
  }
  return text;
}

std::string PostOp(std::string_view text, int rank) {
  const std::size_t end = std::min(text.find(':'), text.size());
  std::string name = LowerCase(text.substr(0, end));
  const std::string rest(text.substr(end));
  if (name == "prelu") return name + WithMask(rest, 1, rank);
  if (name == "sum" || name == "dw" || name.starts_with("dw_")) return name + rest;
  if (const std::string eltwise = LongEltwiseName(name); !eltwise.empty()) return eltwise + rest;
  if (IsOneOf(name, kBinary)) name = "binary_" + name;
  // (a selection has two tensors, each with its own arguments)
  if (name == "binary_select") return name + rest;
  if (name.starts_with("binary_")) return name + WithMask(rest, 2, rank);
  RefuseValue("a post-op", text, "use sum, relu, clip, add or another name of benchdnn's");
}

// "abx" for rank 4 is "abcd": the x stands for the dimensions from c on.
std::string ExpandTag(std::string_view text, int rank) {
  std::string tag;
  for (const char c : text) {
    if (c == 'x') {
      for (int d = 2; d < rank; ++d) tag += static_cast<char>('a' + d);
    } else if (rank < 2 && (c == 'b' || c == 'B')) {
      continue;
    } else {
      tag += c;
    }
  }
  return tag;
}

// Whether the letters before the blocks are the first ones of the alphabet, as many as dimensions.
bool IsLetterTag(std::string_view tag, int rank) {
  std::string letters;
  for (const char c : tag) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) break;
    letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (static_cast<int>(letters.size()) != rank) return false;
  std::sort(letters.begin(), letters.end());
  for (int d = 0; d < rank; ++d) {
    if (letters[static_cast<std::size_t>(d)] != 'a' + d) return false;
  }
  return true;
}

// The names of the dimensions in their order, for tags such as nChw16c and gOIhw16i16o.
std::string DimensionNames(std::string_view tag, int rank) {
  const std::string lower = LowerCase(tag);
  const bool weights = lower.find_first_of("io") != std::string::npos;
  std::string names = weights ? (lower.find('g') != std::string::npos ? "goi" : "oi") : "nc";
  const int spatial = rank - static_cast<int>(names.size());
  if (spatial < 0 || spatial > 3) return {};
  return names + std::string(std::string_view("dhw").substr(static_cast<std::size_t>(3 - spatial)));
}

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

BenchdnnDirection ParseDirection(std::string_view text) {
  static constexpr struct {
    std::string_view name, prop_kind;
    bool bias;
  } kDirections[] = {{"fwd_b", "forward_training", true},   {"fwd_d", "forward_training", false},
                     {"fwd_i", "forward_inference", false}, {"bwd_d", "backward_data", false},
                     {"bwd_w", "backward_weights", false},  {"bwd_wb", "backward_weights", true},
                     {"bwd_dw", "backward", false}};
  const std::string lower = LowerCase(text);
  for (const auto& direction : kDirections) {
    if (direction.name == lower) return {std::string(direction.prop_kind), direction.bias};
  }
  RefuseValue("a direction", text, "use FWD_B, FWD_D, FWD_I, BWD_D, BWD_W, BWD_WB or BWD_DW");
}

std::vector<std::string> ParseTypes(std::string_view text, std::size_t count) {
  std::vector<std::string> types;
  for (const std::string_view part : SplitText(text, ":")) {
    types.push_back(LowerCase(part));
    if (!IsType(types.back())) RefuseValue("a type", part, "use f32, bf16, f16, s32, s8 or u8");
  }
  if (count == 0 || types.size() == count) return types;
  if (types.size() != 1) {
    RefuseValue("a list of types", text, fmt::format("give one type, or {}", count));
  }
  return std::vector<std::string>(count, types.front());
}

BenchdnnConfiguration ParseConfiguration(std::string_view text, std::size_t count) {
  BenchdnnConfiguration configuration;
  const std::string lower = LowerCase(text);
  std::string_view rest = lower;
  constexpr std::string_view kWinograd = "_wino";
  if (rest.ends_with(kWinograd)) {
    configuration.winograd = true;
    rest.remove_suffix(kWinograd.size());
  }
  while (!rest.empty()) {
    const auto* const type =
        std::find_if(std::begin(kTypes), std::end(kTypes),
                     [rest](std::string_view name) { return rest.starts_with(name); });
    if (type == std::end(kTypes)) break;
    configuration.types.emplace_back(*type);
    rest.remove_prefix(type->size());
  }
  if (configuration.types.size() == 1) {
    configuration.types.assign(count, std::string(configuration.types.front()));
  }
  // A fourth type is that of the sums, which follows from the others.
  if (configuration.types.size() == count + 1) configuration.types.pop_back();
  if (!rest.empty() || configuration.types.size() != count) {
    RefuseValue("a configuration", text, "use f32, bf16bf16bf16, u8s8s32 or another of benchdnn's");
  }
  return configuration;
}

std::string LayoutTag(std::string_view text, int rank) {
  if (text == "any" || text == "undef") return std::string(text);
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0;
      })) {
    RefuseValue("a layout", text, "use a tag such as any, abx, nhwc or aBcd16b");
  }
  std::string tag =
      text.find('x') != std::string_view::npos ? ExpandTag(text, rank) : std::string(text);
  if (IsLetterTag(tag, rank)) return tag;
  const std::string names = DimensionNames(tag, rank);
  std::string letters;
  for (const char c : tag) {
    const auto at = names.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      letters += c;
    } else if (at == std::string::npos) {
      return tag;
    } else {
      const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
      letters += static_cast<char>((upper ? 'A' : 'a') + static_cast<int>(at));
    }
  }
  return IsLetterTag(letters, rank) ? letters : tag;
}

std::string LongEltwiseName(std::string_view text) {
  std::string name = LowerCase(text);
  if (name.starts_with(kEltwisePrefix)) name.erase(0, kEltwisePrefix.size());
  ReplaceSuffix(name, kUseDstSuffix, kFromDst);
  if (name == "brelu") name = "bounded_relu";
  if (name == "srelu") name = "soft_relu";
  const bool from_dst = name.ends_with(kFromDst);
  ReplaceSuffix(name, kFromDst, "");
  if (!IsOneOf(name, kEltwise)) return {};
  return std::string(kEltwisePrefix) + name + std::string(from_dst ? kUseDstSuffix : "");
}

std::string ShortEltwiseName(std::string_view text) {
  std::string name(text);
  if (name.starts_with(kEltwisePrefix)) name.erase(0, kEltwisePrefix.size());
  ReplaceSuffix(name, kUseDstSuffix, kFromDst);
  return name;
}

std::string BinaryAlgorithm(std::string_view text) {
  std::string name = LowerCase(text);
  constexpr std::string_view kPrefix = "binary_";
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  if (!IsOneOf(name, kBinary)) RefuseValue("a binary function", text, "use add, mul or another");
  return std::string(kPrefix) + name;
}

std::string ReductionAlgorithm(std::string_view text) {
  std::string name = LowerCase(text);
  constexpr std::string_view kPrefix = "reduction_";
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  if (!IsOneOf(name, kReductions)) RefuseValue("a reduction", text, "use sum, mean or another");
  return std::string(kPrefix) + name;
}

const std::string& NumberText(std::string_view name, const std::string& text) {
  const auto value = ParseNumber<double>(text);
  if (!value || !std::isfinite(*value)) {
    RefuseValue("a number", text, fmt::format("write --{}=0.5", name));
  }
  return text;
}

std::string PostOpsAttribute(std::string_view text, int rank) {
  std::string attribute;
  for (const std::string_view one : SplitText(text, "+;")) {
    if (one.empty()) continue;
    attribute += attribute.empty() ? "attr-post-ops:" : "+";
    attribute += PostOp(one, rank);
  }
  return attribute;
}

}  // namespace topdnn
