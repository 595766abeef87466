#include "harness/text/table_widths.h"

#include <functional>
#include <optional>
#include <set>

namespace topdnn {

namespace {

using Widths = std::vector<std::size_t>;

// Makes the chosen columns narrower, always the widest of them, until the line fits.
void Shrink(const std::vector<ColumnNeed>& columns, std::size_t width,
            const std::function<bool(const ColumnNeed&)>& chosen, Widths& widths) {
  for (std::size_t total = LineWidth(widths); total > width; --total) {
    std::optional<std::size_t> widest;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!chosen(columns[i]) || widths[i] <= columns[i].least) continue;
      if (!widest || widths[i] > widths[*widest]) widest = i;
    }
    if (!widest) return;
    --widths[*widest];
  }
}

// The widths with all columns that have content. Bars are included only if `bars`.
Widths Narrowed(const std::vector<ColumnNeed>& columns, std::size_t width, bool bars) {
  Widths widths;
  for (const ColumnNeed& column : columns) {
    widths.push_back(column.bar && !bars ? 0 : column.natural);
  }
  Shrink(
      columns, width, [](const ColumnNeed& c) { return c.bar; }, widths);
  std::set<int, std::greater<>> ranks;
  for (const ColumnNeed& column : columns) ranks.insert(column.rank);
  for (const int rank : ranks) {
    if (bars && rank == 0) break;  // names are more important than bars
    Shrink(
        columns, width, [rank](const ColumnNeed& c) { return !c.bar && c.rank == rank; }, widths);
  }
  return widths;
}

}  // namespace

std::size_t LineWidth(const std::vector<std::size_t>& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) {
    if (width > 0) total += width + (total > 0 ? kColumnGap : 0);
  }
  return total;
}

std::vector<std::size_t> FitColumns(std::vector<ColumnNeed> columns, std::size_t width) {
  while (true) {
    for (const bool bars : {true, false}) {
      Widths widths = Narrowed(columns, width, bars);
      if (LineWidth(widths) <= width) return widths;
    }
    ColumnNeed* first = nullptr;
    for (ColumnNeed& column : columns) {
      if (column.natural == 0 || column.bar || column.rank == 0) continue;
      if (first == nullptr || column.rank >= first->rank) first = &column;
    }
    if (first == nullptr) return Narrowed(columns, width, false);
    *first = {};
  }
}

}  // namespace topdnn
