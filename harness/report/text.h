// Figures and cells as a person reads them: three significant digits, a unit that fits, columns
// that line up in any script.

#ifndef TOPDNN_HARNESS_REPORT_TEXT_H_
#define TOPDNN_HARNESS_REPORT_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace topdnn {

// What stands where there is no figure.
inline constexpr std::string_view kAbsentText = "n/a";

// Code points of UTF-8 text; each is taken to be one column wide.
std::size_t ColumnsOfText(std::string_view text);

// As many whole code points as fit into the columns.
std::string FirstColumns(std::string_view text, std::size_t columns);

// At most `columns` wide, a cut shown by an ellipsis ("..." without Unicode).
std::string Cut(std::string_view text, std::size_t columns, bool unicode);

// The same, cut in the middle: names that differ at their ends stay apart.
std::string CutMiddle(std::string_view text, std::size_t columns, bool unicode);

// The text in lines of at most `columns`, broken at spaces, with a newline at its end; lines after
// the first begin with `indent` spaces. A word that is longer than a line stays whole, and so do a
// number and its "%".
std::string Wrap(std::string_view text, int columns, std::size_t indent);

std::string PadLeft(std::string_view text, std::size_t columns);   // text at the right
std::string PadRight(std::string_view text, std::size_t columns);  // text at the left

// The value in another unit; absent if it is absent.
std::optional<double> Scaled(std::optional<double> value, double factor);

// Three significant digits, no exponent: "0.00123", "12.3", "1235".
std::string ThreeDigits(double value);

// "1.23 ms"; "us" for microseconds without Unicode.
std::string TimeText(std::optional<double> seconds, bool unicode);
std::string FigureText(std::optional<double> value);      // three digits
std::string PercentText(std::optional<double> fraction);  // "12.3 %"
std::string WordsOf(std::string name);                    // "backward_data": "backward data"

// A bar of `share` in [0, 1] of `columns`, in eighths of a column (U+2588 to U+258F), or in whole
// '#'. Never empty for a share above 0. Padded to the columns.
std::string Bar(double share, std::size_t columns, bool unicode);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TEXT_H_
