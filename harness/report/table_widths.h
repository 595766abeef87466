// Which columns of a table fit a line, and how wide they are. Pure.

#ifndef TOPDNN_HARNESS_REPORT_TABLE_WIDTHS_H_
#define TOPDNN_HARNESS_REPORT_TABLE_WIDTHS_H_

#include <cstddef>
#include <vector>

namespace topdnn {

inline constexpr std::size_t kColumnGap = 2;

struct ColumnNeed {
  std::size_t natural = 0;  // the widest cell; 0: the column has no content
  std::size_t least = 0;    // at most `natural`
  int rank = 0;             // 0: is never left out
  bool bar = false;         // gives way before any other column
};

// The width of each column, 0 for those that are left out. Columns are made narrower in this order:
// bars, then the others by falling rank, the widest first; bars are left out before columns of rank
// 0 are made narrower. If that is not enough, the column with the highest rank, of these the last,
// is left out. The sum exceeds `width` only if the columns of rank 0 do not fit.
std::vector<std::size_t> FitColumns(std::vector<ColumnNeed> columns, std::size_t width);

// Of all columns with the gaps between them.
std::size_t LineWidth(const std::vector<std::size_t>& widths);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLE_WIDTHS_H_
