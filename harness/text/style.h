// The abilities of a terminal: colour, Unicode, width. They are detected separately from drawing,
// so every table can be drawn and tested for every terminal.

#ifndef TOPDNN_HARNESS_TEXT_STYLE_H_
#define TOPDNN_HARNESS_TEXT_STYLE_H_

#include <cstdio>
#include <string>
#include <string_view>

namespace topdnn {

struct Style {
  bool colour = false;
  bool unicode = false;
  bool terminal = false;  // for a person: progress lines are printed
  int width = 110;        // columns
  bool cut = true;        // tables are fitted to the width; false: they are as wide as their cells
};

enum class Ink { kPlain, kBold, kDim, kRed, kYellow, kCyan, kGreen, kBlue, kMagenta };

// The text in that ink; without colour, unchanged.
std::string Inked(Ink ink, const std::string& text, const Style& style);

// The terminal and the environment variables; null: the variable is not set.
struct TerminalEnvironment {
  bool is_terminal = false;
  int columns = 0;                         // of the terminal; 0: not known
  const char* columns_variable = nullptr;  // COLUMNS
  const char* no_color = nullptr;
  const char* term = nullptr;
  const char* lc_all = nullptr;
  const char* lc_ctype = nullptr;
  const char* lang = nullptr;
};

// Pure. Colour only on a terminal that is not "dumb", and without a non-empty NO_COLOR
// (no-color.org). Unicode when the first non-empty of LC_ALL, LC_CTYPE and LANG, as in
// setlocale(3), names UTF-8. The width is that of the terminal, otherwise the number in COLUMNS,
// limited to 80 to 160. Without either it is 110, and tables are cut only on a terminal: a pipe or
// a file gets every column.
Style StyleFor(const TerminalEnvironment& here);

// The style for text that this process writes to `stream`.
Style DetectStyle(std::FILE* stream);

// A line on a terminal that shows the progress of long work, and is erased afterwards. Does nothing
// if the style is not that of a terminal. Writes to stderr, because stdout is for results.
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

#endif  // TOPDNN_HARNESS_TEXT_STYLE_H_
