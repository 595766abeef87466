// A table for a person: columns with a header and a unit, fitted to the width of the terminal.
// Names that are too long are cut in the middle, other text is wrapped, and figures are printed
// completely. A column for which there is no space is named below the table.

#ifndef TOPDNN_HARNESS_TEXT_TABLE_H_
#define TOPDNN_HARNESS_TEXT_TABLE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/text/style.h"

namespace topdnn {

class Table {
 public:
  enum class Kind {
    kName,     // text, left-aligned, cut in the middle
    kText,     // text, left-aligned, wrapped
    kWord,     // short text, left-aligned, never cut
    kRight,    // short text, right-aligned, never cut
    kFigure,   // numbers of three significant digits and at most three decimals
    kTime,     // seconds; all columns of this kind in a table have the same unit
    kPercent,  // fractions, as percent with one decimal
    kBar,      // fractions, as bars; the first column to become narrower
  };

  struct Column {
    std::string name{};
    Kind kind = Kind::kName;
    std::string unit{};      // of kFigure and kRight; the other kinds have a fixed unit
    std::size_t least = 12;  // kName and kText are not made narrower than this
    // If the width is not sufficient, the columns with the highest rank are made narrower first,
    // and omitted first. Those of rank 0 are never omitted.
    int rank = 0;
    bool sign = false;              // of kTime: "+" before positive times
    std::optional<int> decimals{};  // of kFigure: exactly so many, instead of three digits
    Ink (*letter_ink)(char letter) = nullptr;  // of kWord: each letter in its own ink
  };

  // Text, or a number. An absent number is printed as "n/a", empty text as nothing.
  struct Cell {
    Cell(std::string text, Ink colour = Ink::kPlain)  // NOLINT(google-explicit-constructor)
        : content(std::move(text)), ink(colour) {}
    Cell(std::string_view text) : content(std::string(text)) {}  // NOLINT
    Cell(const char* text) : content(std::string(text)) {}       // NOLINT
    Cell(std::optional<double> number) : content(number) {}      // NOLINT
    Cell(std::nullopt_t absent) : content(absent) {}             // NOLINT
    Cell(double number) : content(std::optional(number)) {}      // NOLINT

    std::variant<std::string, std::optional<double>> content;
    Ink ink = Ink::kPlain;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Throws std::invalid_argument unless there is one cell for each column.
  void Add(std::vector<Cell> row);
  // A line across the table.
  void AddRule();
  bool empty() const { return rows_.empty(); }

  // The header, the rows, and a line that names the columns for which there is no space. Each line
  // begins with `indent` spaces and ends with a newline. Columns without content are omitted.
  std::string Text(const Style& style, std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;  // no cells: a rule
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_TABLE_H_
