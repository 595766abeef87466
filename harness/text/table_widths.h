// Selects the columns of a table that fit a line, and their widths. Pure.

#ifndef TOPDNN_HARNESS_TEXT_TABLE_WIDTHS_H_
#define TOPDNN_HARNESS_TEXT_TABLE_WIDTHS_H_

#include <cstddef>
#include <vector>

namespace topdnn {

inline constexpr std::size_t kColumnGap = 2;

struct ColumnNeed {
  std::size_t natural = 0;  // the widest cell; 0: the column has no content
  std::size_t least = 0;    // at most `natural`
  int rank = 0;             // 0: is never omitted
  bool bar = false;         // becomes narrower before any other column
};

// The width of each column; 0: the column is omitted. Columns are made narrower in this order:
// bars, then the others from the highest rank to the lowest, the widest first. Bars are omitted
// before columns of rank 0 are made narrower. If that is not sufficient, the last column of the
// highest rank is omitted. The sum exceeds `width` only if the columns of rank 0 do not fit.
std::vector<std::size_t> FitColumns(std::vector<ColumnNeed> columns, std::size_t width);

// The width of all columns with the gaps between them.
std::size_t LineWidth(const std::vector<std::size_t>& widths);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_TABLE_WIDTHS_H_
