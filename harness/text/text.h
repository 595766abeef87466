// Figures and cells as text for a person: three significant digits, a suitable unit, and widths
// that are correct for non-ASCII text.

#ifndef TOPDNN_HARNESS_TEXT_TEXT_H_
#define TOPDNN_HARNESS_TEXT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace topdnn {

// The text for an absent figure.
inline constexpr std::string_view kAbsentText = "n/a";

// The number of code points of UTF-8 text; each is assumed to be one column wide.
std::size_t ColumnsOfText(std::string_view text);

// The first code points that fit into the columns.
std::string FirstColumns(std::string_view text, std::size_t columns);

// The text, at most `columns` wide. If it is cut, it ends with an ellipsis ("..." without Unicode).
std::string Cut(std::string_view text, std::size_t columns, bool unicode);

// The same, but cut in the middle: names that differ at their ends remain different.
std::string CutMiddle(std::string_view text, std::size_t columns, bool unicode);

// The text in lines of at most `columns`, broken at spaces, with a newline at its end. Lines after
// the first begin with `indent` spaces. A word that is longer than a line is not broken, and a
// number is not separated from its "%".
std::string Wrap(std::string_view text, int columns, std::size_t indent);

std::string PadRight(std::string_view text, std::size_t columns);  // left-aligned

// The value in another unit; absent if it is absent.
std::optional<double> Scaled(std::optional<double> value, double factor);

// Three significant digits, no exponent: "0.00123", "12.3", "1235".
std::string ThreeDigits(double value);

// "1.23 ms"; "us" for microseconds without Unicode.
std::string TimeText(std::optional<double> seconds, bool unicode);
std::string FigureText(std::optional<double> value);      // three digits
std::string PercentText(std::optional<double> fraction);  // "12.3 %"
std::string WordsOf(std::string name);                    // "backward_data": "backward data"

std::string CountText(std::int64_t n, std::string_view one);  // "1 row", "2 rows"

// A bar as long as the share (0 to 1) of `columns`, in eighths of a column (U+2588 to U+258F), or
// in whole '#' without Unicode. Never empty for a share above 0. Padded to the columns.
std::string Bar(double share, std::size_t columns, bool unicode);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_TEXT_H_
