// What a terminal can show: colour, Unicode, width. Detection is apart from drawing, so that every
// table can be drawn, and tested, for every terminal.

#ifndef TOPDNN_HARNESS_REPORT_STYLE_H_
#define TOPDNN_HARNESS_REPORT_STYLE_H_

#include <cstdio>
#include <string>
#include <string_view>

namespace topdnn {

struct Style {
  bool colour = false;
  bool unicode = false;
  bool terminal = false;  // a person watches: progress lines make sense
  int width = 110;        // columns
};

// What the environment says; null where a variable is not set.
struct Surroundings {
  bool is_terminal = false;
  int columns = 0;  // 0: not known
  const char* no_color = nullptr;
  const char* term = nullptr;
  const char* lc_all = nullptr;
  const char* lc_ctype = nullptr;
  const char* lang = nullptr;
};

// Pure. Colour only on a terminal that is not "dumb", and without a non-empty NO_COLOR
// (no-color.org). Unicode when the first non-empty of LC_ALL, LC_CTYPE and LANG, as in
// setlocale(3), names UTF-8. The width is that of the terminal between 80 and 120, and 110
// elsewhere.
Style StyleFor(const Surroundings& surroundings);

// For what is written to `stream` here and now.
Style DetectStyle(std::FILE* stream);

// A line on a terminal that tells how far long work is, and is gone afterwards. Does nothing when
// the style is not that of a terminal. Writes to stderr, so that stdout stays clean.
class ProgressLine {
 public:
  explicit ProgressLine(const Style& style, std::FILE* stream = stderr)
      : style_(style), stream_(stream) {}
  ~ProgressLine() { Erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Replaces the line; cut to the width.
  void Show(std::string_view text);
  void Erase();

 private:
  Style style_;
  std::FILE* stream_;
  bool shown_ = false;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_STYLE_H_
