#include "bench/log/read/mkldnn_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool IsNumeral(char c) { return c >= '0' && c <= '9'; }

bool HasLetter(std::string_view format, char letter) {
  return std::any_of(format.begin(), format.end(), [&](char c) { return Lower(c) == letter; });
}

}  // namespace

std::string LayoutOfMkldnn(std::string_view format) {
  if (format == "x") return "a";
  // The dimensions in their logical order.
  const std::string_view order = HasLetter(format, 'o') ? "goidhw" : "ntcdhw";
  std::string dimensions;
  for (const char c : order) {
    if (HasLetter(format, c)) dimensions += c;
  }
  std::string layout;
  for (const char c : format) {
    if (IsNumeral(c)) {
      layout += c;
      continue;
    }
    const std::size_t at = dimensions.find(Lower(c));
    if (at == std::string::npos) return {};
    const char first = Lower(c) == c ? 'a' : 'A';
    layout += static_cast<char>(first + static_cast<char>(at));
  }
  return layout;
}

std::string TensorsOfMkldnn(std::string_view field, std::string_view implementation) {
  const bool integers = implementation.find("int8") != std::string_view::npos ||
                        implementation.find("igemm") != std::string_view::npos;
  std::string text;
  for (const std::string_view word : SplitText(field, " ")) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view name = word.substr(0, colon), format = word.substr(colon + 1);
    std::string_view type = integers ? "int8" : "f32";
    if (name == "in" || name == "out") {
      name = name == "in" ? "src" : "dst";
      const std::size_t bar = format.find('_');
      if (bar == std::string_view::npos) continue;
      type = format.substr(0, bar);
      format.remove_prefix(bar + 1);
    } else if (name.starts_with('f')) {
      name.remove_prefix(1);
    }
    if (!text.empty()) text += " ";
    const std::string layout = LayoutOfMkldnn(format);
    if (format == "undef") {
      text += fmt::format("{}_undef::undef::f0", name);
    } else if (format == "any" || layout.empty()) {
      text += fmt::format("{}_{}::{}::f0", name, type, format);
    } else {
      text += fmt::format("{}_{}::blocked:{}:f0", name, type, layout);
    }
  }
  return text;
}

std::string AuxiliaryOfMkldnn(std::string_view field) {
  constexpr std::string_view kFlags = "flags:";
  if (!field.starts_with(kFlags)) return std::string(field);
  const auto flags = ParseNumber<unsigned>(field.substr(kFlags.size()));
  constexpr unsigned kKnown = 7;
  if (!flags || *flags > kKnown) return std::string(field);
  std::string letters(kFlags);
  for (const auto& [bit, letter] : {std::pair(1U, 'G'), std::pair(2U, 'S'), std::pair(4U, 'R')}) {
    if ((*flags & bit) != 0) letters += letter;
  }
  return letters;
}

std::string ProblemOfMkldnn(std::string_view primitive, std::string_view field) {
  if (primitive != "eltwise" && primitive != "softmax" && primitive != "shuffle") {
    return std::string(field);
  }
  std::string shape;
  for (const char c : field) {
    if (IsNumeral(c)) {
      shape += c;
    } else if (!shape.empty() && IsNumeral(shape.back())) {
      shape += 'x';
    }
  }
  return shape;
}

}  // namespace topdnn
