#include "harness/text/style.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "harness/text/text.h"

namespace topdnn {

namespace {

bool IsSet(const char* variable) { return variable != nullptr && *variable != '\0'; }

bool NamesUtf8(std::string_view locale) {
  std::string plain;
  for (const char c : locale) {
    if (c != '-') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain.find("utf8") != std::string::npos;
}

// 0 if the variable is not set or is not a number.
int NumberIn(const char* variable) {
  int number = 0;
  if (IsSet(variable)) std::from_chars(variable, variable + std::strlen(variable), number);
  return number;
}

}  // namespace

Style StyleFor(const TerminalEnvironment& here) {
  Style style;
  const bool dumb = !IsSet(here.term) || std::string_view(here.term) == "dumb";
  style.terminal = here.is_terminal && !dumb;
  style.colour = style.terminal && !IsSet(here.no_color);
  for (const char* locale : {here.lc_all, here.lc_ctype, here.lang}) {
    if (!IsSet(locale)) continue;
    style.unicode = NamesUtf8(locale);
    break;
  }
  int columns = here.is_terminal ? here.columns : 0;
  if (columns <= 0) columns = NumberIn(here.columns_variable);
  style.cut = here.is_terminal || columns > 0;
  if (columns > 0) style.width = std::clamp(columns, 80, 160);
  return style;
}

std::string Inked(Ink ink, const std::string& text, const Style& style) {
  static constexpr std::array<const char*, 9> kCodes = {"0",  "1",  "2",  "31", "33",
                                                        "36", "32", "34", "35"};
  if (!style.colour || ink == Ink::kPlain || text.empty()) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes.at(static_cast<std::size_t>(ink)), text);
}

Style DetectStyle(std::FILE* stream) {
  TerminalEnvironment here;
  const int fd = fileno(stream);
  here.is_terminal = isatty(fd) == 1;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0) here.columns = size.ws_col;
  here.columns_variable = std::getenv("COLUMNS");
  here.no_color = std::getenv("NO_COLOR");
  here.term = std::getenv("TERM");
  here.lc_all = std::getenv("LC_ALL");
  here.lc_ctype = std::getenv("LC_CTYPE");
  here.lang = std::getenv("LANG");
  return StyleFor(here);
}

void ProgressLine::Show(std::string_view text) {
  if (!style_.terminal) return;
  const std::string line = Cut(text, static_cast<std::size_t>(style_.width - 1), style_.unicode);
  std::fprintf(stream_, "\r\x1b[K%s", line.c_str());
  std::fflush(stream_);
  shown_ = true;
}

void ProgressLine::Erase() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  shown_ = false;
}

}  // namespace topdnn
