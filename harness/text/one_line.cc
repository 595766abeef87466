#include "harness/text/one_line.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace topdnn {

namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// The first code point (RFC 3629: no surrogates, no overlong forms).
CodePoint Decode(std::string_view text) {
  const auto byte = [&text](std::size_t i) -> char32_t {
    return static_cast<unsigned char>(text[i]);
  };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  char32_t value = first & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr char32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kMin[bytes] || value > 0x10FFFF || surrogate) return {};
  return {value, bytes};
}

bool SteersTerminal(char32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool separator = c == 0x2028 || c == 0x2029;
  const bool direction =
      c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return control || separator || direction;
}

std::string Escape(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(c));
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = Decode(text);
    const std::size_t bytes = c.bytes == 0 ? 1 : c.bytes;
    if (c.bytes == 0) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (SteersTerminal(c.value)) {
      line += Escape(c.value);
    } else {
      line += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return line;
}

}  // namespace topdnn
