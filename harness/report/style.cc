#include "harness/report/style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "harness/report/text.h"

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

}  // namespace

Style StyleFor(const Surroundings& surroundings) {
  Style style;
  const bool dumb = !IsSet(surroundings.term) || std::string_view(surroundings.term) == "dumb";
  style.terminal = surroundings.is_terminal && !dumb;
  style.colour = style.terminal && !IsSet(surroundings.no_color);
  for (const char* locale : {surroundings.lc_all, surroundings.lc_ctype, surroundings.lang}) {
    if (!IsSet(locale)) continue;
    style.unicode = NamesUtf8(locale);
    break;
  }
  if (surroundings.is_terminal && surroundings.columns > 0) {
    style.width = std::clamp(surroundings.columns, 80, 120);
  }
  return style;
}

Style DetectStyle(std::FILE* stream) {
  Surroundings here;
  const int fd = fileno(stream);
  here.is_terminal = isatty(fd) == 1;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0) here.columns = size.ws_col;
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
