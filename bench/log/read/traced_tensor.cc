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

// The attributes whose notation differs up to oneDNN 2.1, and what separates the parts of a value.
constexpr struct {
  std::string_view old, current, separator;
} kOldAttributes[] = {{"post_ops", "attr-post-ops", ";"},
                      {"oscale", "attr-oscale", "_"},
                      {"scales", "attr-scales", "_"},
                      {"zero_points", "attr-zero-points", "_"}};

// "post_ops:'sum;eltwise_relu:0;'" as "attr-post-ops:sum+eltwise_relu:0", and
// "scales:'src:0:0.5_src:0:2'" as "attr-scales:src0:0:0.5+src1:0:2".
std::string CurrentAttribute(std::string_view one) {
  const std::size_t colon = one.find(':');
  const auto* const known =
      std::find_if(std::begin(kOldAttributes), std::end(kOldAttributes),
                   [&](const auto& attribute) { return attribute.old == one.substr(0, colon); });
  if (colon == std::string_view::npos || known == std::end(kOldAttributes)) {
    return std::string(one);
  }
  std::string_view value = one.substr(colon + 1);
  if (value.starts_with('\'')) value = value.substr(1, value.find('\'', 1) - 1);
  std::string text = fmt::format("{}:", known->current);
  std::string_view separator;
  int sources = 0;
  for (std::string_view part : SplitText(value, known->separator)) {
    if (part.empty()) continue;
    text += separator;
    separator = "+";
    constexpr std::string_view kSource = "src";
    if (known->old == "scales" && part.starts_with("src:")) {
      text += fmt::format("src{}", sources++);
      part.remove_prefix(kSource.size());
    }
    text += part;
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
    const std::string_view one = field.substr(0, end);
    field.remove_prefix(end == std::string_view::npos ? field.size() : end + 1);
    if (!one.empty()) attributes.push_back(CurrentAttribute(one));
  }
  return attributes;
}

// "b4m16n32k64", a matmul up to oneDNN 2.1, as "4x16x64:4x64x32". Another text is returned as it
// is.
std::string CurrentMatmul(std::string_view text) {
  std::string_view rest = text;
  const auto take = [&rest](char letter) {
    if (!rest.starts_with(letter)) return std::string_view();
    rest.remove_prefix(1);
    const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
    rest.remove_prefix(digits.size());
    return digits;
  };
  std::string batch(take('b'));
  if (!batch.empty()) batch += 'x';
  const std::string_view m = take('m'), n = take('n'), k = take('k');
  if (!rest.empty() || m.empty() || n.empty() || k.empty()) return std::string(text);
  return fmt::format("{0}{1}x{3}:{0}{3}x{2}", batch, m, n, k);
}

// "1x3x5x5 1x3x10x10", a resampling up to oneDNN 2.1, as "mb1ic3_ih5oh10_iw5ow10".
std::string CurrentResampling(std::string_view src, std::string_view dst) {
  constexpr std::string_view kAxes = "dhw";
  const std::vector<std::string_view> in = SplitText(src, "x"), out = SplitText(dst, "x");
  const std::size_t rank = in.size();
  if (out.size() != rank || rank < 3 || rank > kAxes.size() + 2) {
    return fmt::format("{} {}", src, dst);
  }
  std::string text = fmt::format("mb{}ic{}", in[0], in[1]);
  for (std::size_t d = 2; d < rank; ++d) {
    text += fmt::format("_i{0}{1}o{0}{2}", kAxes[d + kAxes.size() - rank], in[d], out[d]);
  }
  return text;
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

std::string CurrentProblem(std::string_view primitive, std::string_view field) {
  const std::string_view text = Trimmed(field);
  if (primitive == "matmul") return CurrentMatmul(text);
  const std::size_t blank = std::min(text.find(' '), text.size());
  if (primitive == "resampling" && blank < text.size()) {
    return CurrentResampling(text.substr(0, blank), text.substr(blank + 1));
  }
  // (the shape of the result followed those of the sources)
  const bool of_sources = primitive == "binary" || primitive == "concat";
  return std::string(of_sources ? text.substr(0, blank) : text);
}

}  // namespace topdnn
