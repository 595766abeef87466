#include "harness/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace topdnn {

namespace {

bool StartsCodePoint(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u; }

std::string_view FirstCodePoints(std::string_view text, std::size_t n) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (StartsCodePoint(text[at]) && n-- == 0) break;
  }
  return text.substr(0, at);
}

// "53 %" is one word.
std::size_t EndOfWord(std::string_view text, std::size_t at) {
  const std::size_t end = std::min(text.find(' ', at), text.size());
  const bool percent = text.substr(end, 2) == " %";
  return percent ? std::min(text.find(' ', end + 1), text.size()) : end;
}

}  // namespace

std::size_t ColumnsOfText(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), StartsCodePoint));
}

std::string FirstColumns(std::string_view text, std::size_t columns) {
  return std::string(FirstCodePoints(text, columns));
}

std::string Cut(std::string_view text, std::size_t columns, bool unicode) {
  if (ColumnsOfText(text) <= columns) return std::string(text);
  const std::string_view ellipsis = unicode ? "\u2026" : "...";
  const std::size_t kept = columns - std::min(columns, ColumnsOfText(ellipsis));
  return std::string(FirstCodePoints(text, kept)) +
         std::string(FirstCodePoints(ellipsis, columns - kept));
}

std::string CutMiddle(std::string_view text, std::size_t columns, bool unicode) {
  const std::size_t whole = ColumnsOfText(text);
  if (whole <= columns) return std::string(text);
  const std::string_view ellipsis = unicode ? "\u2026" : "..";
  if (columns < ColumnsOfText(ellipsis) + 2) return Cut(text, columns, unicode);
  const std::size_t kept = columns - ColumnsOfText(ellipsis);
  const std::string_view head = FirstCodePoints(text, kept / 2);
  const std::string_view before_tail = FirstCodePoints(text, whole - (kept - kept / 2));
  return std::string(head) + std::string(ellipsis) + std::string(text.substr(before_tail.size()));
}

std::string Wrap(std::string_view text, int columns, std::size_t indent) {
  const auto width = static_cast<std::size_t>(std::max(columns, 1));
  // Leading spaces belong to the first word.
  const std::size_t start = std::min(text.find_first_not_of(' '), text.size());
  std::string wrapped;
  std::string line(text.substr(0, start));
  bool empty = true;  // no word is in the line yet
  for (std::size_t at = start; at < text.size();) {
    const std::size_t end = EndOfWord(text, at);
    const std::string_view word = text.substr(at, end - at);
    at = std::min(text.find_first_not_of(' ', end), text.size());
    if (!empty && ColumnsOfText(line) + 1 + ColumnsOfText(word) > width) {
      wrapped += line + "\n";
      line = std::string(indent, ' ');
      empty = true;
    }
    line += (empty ? "" : " ") + std::string(word);
    empty = false;
  }
  return wrapped + line + "\n";
}

std::string PadRight(std::string_view text, std::size_t columns) {
  return std::string(text) + std::string(columns - std::min(columns, ColumnsOfText(text)), ' ');
}

std::optional<double> Scaled(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

std::string ThreeDigits(double value) {
  if (value == 0) return "0";
  if (!std::isfinite(value)) return std::string(kAbsentText);
  // The exponent after rounding to three digits: 9.996 is 10.0, not 10.00.
  const std::string scientific = fmt::format("{:.2e}", std::abs(value));
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  return fmt::format("{:.{}f}", value, std::clamp(2 - exponent, 0, 12));
}

std::string TimeText(std::optional<double> seconds, bool unicode) {
  if (!seconds || !std::isfinite(*seconds)) return std::string(kAbsentText);
  struct Unit {
    double seconds;
    const char* name;
  };
  const std::array<Unit, 4> units = {
      {{1, "s"}, {1e-3, "ms"}, {1e-6, unicode ? "\u00B5s" : "us"}, {1e-9, "ns"}}};
  for (const Unit& unit : units) {
    // (0.9995 of a unit is rounded to 1.00)
    if (*seconds >= 0.9995 * unit.seconds) {
      return fmt::format("{} {}", ThreeDigits(*seconds / unit.seconds), unit.name);
    }
  }
  return fmt::format("{} ns", ThreeDigits(*seconds * 1e9));
}

std::string FigureText(std::optional<double> value) {
  return value ? ThreeDigits(*value) : std::string(kAbsentText);
}

std::string PercentText(std::optional<double> fraction) {
  if (!fraction || !std::isfinite(*fraction)) return std::string(kAbsentText);
  return fmt::format("{:.1f} %", 100 * *fraction);
}

std::string CountText(std::int64_t n, std::string_view one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

std::string WordsOf(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string Bar(double share, std::size_t columns, bool unicode) {
  static constexpr std::array<const char*, 9> kEighths = {
      "", "\u258F", "\u258E", "\u258D", "\u258C", "\u258B", "\u258A", "\u2589", "\u2588"};
  if (!(share > 0)) return std::string(columns, ' ');
  const double length = std::min(share, 1.0) * static_cast<double>(columns);
  std::string bar;
  if (!unicode) {
    bar = std::string(std::max<std::size_t>(1, std::lround(length)), '#');
  } else {
    const auto eighths = std::max<std::size_t>(1, std::lround(8 * length));
    for (std::size_t i = 0; i < eighths / 8; ++i) bar += kEighths[8];
    bar += kEighths[eighths % 8];
  }
  return PadRight(bar, columns);
}

}  // namespace topdnn
