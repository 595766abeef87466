#include "bench/log/read/traced_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

constexpr std::string_view kTypes[] = {
    "undef", "f64",     "f32",     "f16",     "bf16",    "s32",     "s8",   "u8",       "s4",
    "u4",    "boolean", "f8_e5m2", "f8_e4m3", "f4_e2m1", "f4_e3m0", "e8m0", "data_type"};

bool IsType(std::string_view text) {
  return std::find(std::begin(kTypes), std::end(kTypes), text) != std::end(kTypes);
}

// "f0", "f4": flags of the format.
bool IsFlags(std::string_view text) {
  return text.size() >= 2 && text[0] == 'f' && text[1] >= '0' && text[1] <= '9';
}

// Sets name and type from "src_f32" or from "src" and "f32". Returns how many parts that took.
std::size_t TakeNameAndType(const std::vector<std::string_view>& parts, TracedTensor& tensor) {
  for (const std::string_view type : kTypes) {
    const std::string_view first = parts[0];
    if (first.size() <= type.size() + 1 || !first.ends_with(type)) continue;
    if (first[first.size() - type.size() - 1] != '_') continue;
    tensor.name = first.substr(0, first.size() - type.size() - 1);
    tensor.type = type;
    return 1;
  }
  if (parts.size() < 2 || !IsType(parts[1])) return 0;
  tensor.name = parts[0];
  tensor.type = parts[1];
  return 2;
}

bool ParseTensor(std::string_view word, TracedTensor& tensor) {
  const std::vector<std::string_view> parts = SplitText(word, ":");
  std::size_t at = TakeNameAndType(parts, tensor);
  if (at == 0 || tensor.name.empty()) return false;
  if (!tensor.present()) return true;
  const auto next = [&] { return at < parts.size() ? parts[at++] : std::string_view(); };
  next();  // how the tensor was described: a, p, o, 0
  tensor.format_kind = next();
  // (oneDNN 2 has no strides; a format without layout has no place for them)
  if (at < parts.size() && !IsFlags(parts[at])) tensor.layout = next();
  if (at < parts.size() && !IsFlags(parts[at])) tensor.strides = next();
  for (; at < parts.size(); ++at) {
    if (!tensor.extra.empty()) tensor.extra += ":";
    tensor.extra += parts[at];
  }
  // The mask of a matmul's bias: "f0_mask2".
  constexpr std::string_view kMask = "_mask";
  if (const std::size_t at_mask = tensor.extra.find(kMask); at_mask != std::string::npos) {
    const std::string_view digits = std::string_view(tensor.extra).substr(at_mask + kMask.size());
    tensor.mask = BiasMask(ParseNumber<int>(digits).value_or(-1), tensor.layout.size());
    tensor.extra.resize(at_mask);
  }
  if (tensor.extra == "f0") tensor.extra.clear();
  return true;
}

// "post_ops:'sum;eltwise_relu:0;'" of oneDNN 1 as "attr-post-ops:sum+eltwise_relu:0".
std::string OldPostOps(std::string_view quoted) {
  std::string text = "attr-post-ops:";
  std::string_view separator;
  for (const std::string_view part : SplitText(quoted, ";")) {
    if (part.empty()) continue;
    text.append(separator).append(part);
    separator = "+";
  }
  return text;
}

// The attributes of oneDNN 1: "scratchpad_mode:user;post_ops:'eltwise_relu;';".
std::vector<std::string> OldAttributes(std::string_view field) {
  std::vector<std::string> attributes;
  while (!field.empty()) {
    const std::size_t quote = field.find('\'');
    std::size_t end = field.find(';');
    if (quote < end) {
      const std::size_t close = field.find('\'', quote + 1);
      end = close == std::string_view::npos ? close : field.find(';', close);
    }
    std::string_view one = field.substr(0, end);
    field.remove_prefix(end == std::string_view::npos ? field.size() : end + 1);
    constexpr std::string_view kPostOps = "post_ops:'";
    if (one.starts_with(kPostOps)) {
      one.remove_prefix(kPostOps.size());
      attributes.push_back(OldPostOps(one.substr(0, one.find('\''))));
    } else if (!one.empty()) {
      attributes.emplace_back(one);
    }
  }
  return attributes;
}

}  // namespace

std::string TracedTensor::LayoutText() const {
  std::string text = layout.empty() ? format_kind : layout;
  if (!strides.empty()) text += ":" + strides;
  if (!extra.empty()) text += ":" + extra;
  if (mask >= 0) text += fmt::format(":mask{}", mask);
  return text;
}

std::string TracedTensor::Text() const {
  return name + ":" + type + (present() ? ":" + LayoutText() : "");
}

int BiasMask(int mask, std::size_t rank) {
  constexpr std::size_t kMostRank = 12;  // of oneDNN
  return rank > 0 && rank <= kMostRank && mask == 1 << (rank - 1) ? -1 : mask;
}

std::vector<TracedTensor> ParseTracedTensors(std::string_view field) {
  std::vector<TracedTensor> tensors;
  for (const std::string_view word : SplitText(field, " ")) {
    TracedTensor tensor;
    if (!word.empty() && ParseTensor(word, tensor)) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::string ExchangeDimensions(std::string layout, char one, char other) {
  const auto upper = [](char c) { return static_cast<char>(c - 'a' + 'A'); };
  for (char& c : layout) {
    if (c == one || c == other) {
      c = c == one ? other : one;
    } else if (c == upper(one) || c == upper(other)) {
      c = upper(c == upper(one) ? other : one);
    }
  }
  return layout;
}

std::string EssentialAttributes(std::string_view field) {
  std::vector<std::string> attributes;
  if (field.find(';') != std::string_view::npos) {
    attributes = OldAttributes(field);
  } else {
    for (const std::string_view word : SplitText(field, " ")) attributes.emplace_back(word);
  }
  std::string text;
  for (const std::string& one : attributes) {
    if (one.empty() || one.starts_with("attr-scratchpad:") || one.starts_with("scratchpad_mode:")) {
      continue;
    }
    if (!text.empty()) text += " ";
    text += one;
  }
  return text;
}

}  // namespace topdnn
