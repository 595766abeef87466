#include "harness/text/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <stdexcept>
#include <utility>

#include "harness/text/table_widths.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Kind = Table::Kind;
using Column = Table::Column;
using Cell = Table::Cell;

constexpr std::size_t kMaxBar = 12, kMinBar = 6;
constexpr int kMaxDecimals = 3;

struct Unit {
  double size = 1;
  std::string_view name;
};

// The cells of a column as text. Bars are drawn when their width is known.
struct DrawnColumn {
  std::string header;
  std::vector<std::string> cells;
  bool right = false;  // right-aligned
};

const std::optional<double>* NumberIn(const Cell& cell) {
  return std::get_if<std::optional<double>>(&cell.content);
}

// The unit of all times of a table: the one in which the smallest time has three significant
// digits, unless the largest would then have more than five digits before the point.
Unit TimeUnitOf(const std::vector<double>& times, bool unicode) {
  constexpr double kMax = 1e5, kMin = 0.0995;
  const std::array<Unit, 4> units = {
      {{1, "s"}, {1e-3, "ms"}, {1e-6, unicode ? "\u00B5s" : "us"}, {1e-9, "ns"}}};
  double smallest = 0;
  double largest = 0;
  for (const double time : times) {
    const double size = std::abs(time);
    if (!std::isfinite(size) || size == 0) continue;
    smallest = smallest == 0 ? size : std::min(smallest, size);
    largest = std::max(largest, size);
  }
  std::size_t chosen = 0;
  while (chosen + 1 < units.size() && smallest > 0 && smallest < kMin * units[chosen].size &&
         largest < kMax * units[chosen + 1].size) {
    ++chosen;
  }
  return units[chosen];
}

// A number that is not 0 is never printed as 0.
std::string FixedOf(double size, int decimals) {
  const double least = std::pow(10.0, -decimals);
  if (size > 0 && size < least / 2) return fmt::format("<{:.{}f}", least, decimals);
  return fmt::format("{:.{}f}", size, decimals);
}

// The number with `decimals` decimals, or with three significant digits and at most three decimals.
std::string FigureOf(double value, std::optional<int> decimals) {
  const double size = std::abs(value);
  const std::string three = ThreeDigits(size);
  const std::size_t point = three.find('.');
  const bool fits = point == std::string::npos || three.size() - point - 1 <= kMaxDecimals;
  const bool as_it_is = fits && !decimals;
  return (value < 0 ? "-" : "") +
         (as_it_is ? three : FixedOf(size, decimals.value_or(kMaxDecimals)));
}

std::string NumberText(const Column& column, double value, const Unit& time) {
  if (!std::isfinite(value)) return std::string(kAbsentText);
  if (column.kind == Kind::kPercent) {
    const std::string text = fmt::format("{:.1f}", 100 * value);
    return text == "-0.0" ? "0.0" : text;
  }
  if (column.kind != Kind::kTime) return FigureOf(value, column.decimals);
  return (column.sign && value > 0 ? "+" : "") + FigureOf(value / time.size, {});
}

std::size_t DecimalsOf(std::string_view text) {
  const std::size_t point = text.find('.');
  return point == std::string_view::npos ? 0 : text.size() - point;
}

// Pads numbers at the right, to align their decimal points.
void AlignPoints(std::vector<std::string>& cells) {
  std::size_t decimals = 0;
  for (const std::string& cell : cells) decimals = std::max(decimals, DecimalsOf(cell));
  for (std::string& cell : cells) {
    if (cell.empty() || cell == kAbsentText) continue;
    cell.append(decimals - DecimalsOf(cell), ' ');
  }
}

std::string_view UnitOf(const Column& column, const Unit& time) {
  if (column.kind == Kind::kTime) return time.name;
  return column.kind == Kind::kPercent ? "%" : std::string_view(column.unit);
}

bool IsNumeric(Kind kind) {
  return kind == Kind::kFigure || kind == Kind::kTime || kind == Kind::kPercent;
}

DrawnColumn DrawColumn(const Column& column, const std::vector<const Cell*>& cells,
                       const Unit& time) {
  DrawnColumn drawn;
  const std::string_view unit = UnitOf(column, time);
  drawn.header = column.name + (unit.empty() ? "" : " ") + std::string(unit);
  drawn.right = IsNumeric(column.kind) || column.kind == Kind::kRight;
  for (const Cell* cell : cells) {
    const std::optional<double>* number = NumberIn(*cell);
    if (number == nullptr) {
      drawn.cells.push_back(std::get<std::string>(cell->content));
    } else {
      drawn.cells.push_back(*number ? NumberText(column, **number, time)
                                    : std::string(kAbsentText));
    }
  }
  if (IsNumeric(column.kind)) AlignPoints(drawn.cells);
  return drawn;
}

double ShareOf(const Cell& cell) {
  const std::optional<double>* number = NumberIn(cell);
  return number == nullptr ? 0 : number->value_or(0);
}

ColumnNeed NeedOf(const Column& column, const DrawnColumn& drawn,
                  const std::vector<const Cell*>& cells) {
  ColumnNeed need;
  need.rank = column.rank;
  if (column.kind == Kind::kBar) {
    const bool any = std::any_of(cells.begin(), cells.end(),
                                 [](const Cell* cell) { return ShareOf(*cell) > 0; });
    return any ? ColumnNeed{kMaxBar, kMinBar, column.rank, true} : need;
  }
  for (const std::string& cell : drawn.cells) {
    need.natural = std::max(need.natural, ColumnsOfText(cell));
  }
  if (need.natural == 0) return need;
  need.natural = std::max(need.natural, ColumnsOfText(drawn.header));
  const bool gives_way = column.kind == Kind::kName || column.kind == Kind::kText;
  need.least = gives_way ? std::min(need.natural, column.least) : need.natural;
  return need;
}

// The lines of a cell in a column of that width.
std::vector<std::string> LinesOf(std::string_view text, Kind kind, std::size_t width,
                                 bool unicode) {
  if (kind != Kind::kText) {
    return {kind == Kind::kName ? CutMiddle(text, width, unicode) : std::string(text)};
  }
  std::vector<std::string> lines;
  const std::string wrapped = Wrap(text, static_cast<int>(width), 0);
  for (std::size_t at = 0; at < wrapped.size();) {
    const std::size_t end = wrapped.find('\n', at);
    std::string line = wrapped.substr(at, end - at);
    at = end + 1;
    while (ColumnsOfText(line) > width) {  // a single word, which must be broken
      lines.push_back(FirstColumns(line, width));
      line.erase(0, lines.back().size());
    }
    lines.push_back(line);
  }
  return lines;
}

// Runs of the same letter have one ink.
std::string InkedLetters(std::string_view letters, Ink (*letter_ink)(char), const Style& style) {
  std::string text;
  while (!letters.empty()) {
    const std::size_t end = std::min(letters.find_first_not_of(letters.front()), letters.size());
    text += Inked(letter_ink(letters.front()), std::string(letters.substr(0, end)), style);
    letters.remove_prefix(end);
  }
  return text;
}

std::string WithoutTrailingSpace(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// One table, drawn for one style.
class Drawing {
 public:
  Drawing(std::span<const Column> columns, const std::vector<std::vector<Cell>>& rows,
          const Style& style, std::size_t indent)
      : columns_(columns), rows_(rows), style_(style), indent_(indent, ' ') {
    std::vector<double> times;
    ForEachCell([&](std::size_t i, const Cell& cell) {
      const std::optional<double>* number = NumberIn(cell);
      if (columns[i].kind == Kind::kTime && number != nullptr && *number) {
        times.push_back(**number);
      }
    });
    const Unit time = TimeUnitOf(times, style.unicode);
    std::vector<ColumnNeed> needs;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::vector<const Cell*> cells;
      for (const auto& row : rows) {
        if (!row.empty()) cells.push_back(&row[i]);
      }
      drawn_.push_back(DrawColumn(columns[i], cells, time));
      needs.push_back(NeedOf(columns[i], drawn_.back(), cells));
    }
    const std::size_t width = static_cast<std::size_t>(std::max(style.width, 1));
    widths_ = FitColumns(needs, style.cut ? width - std::min(width, indent) : SIZE_MAX);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (needs[i].natural > 0 && widths_[i] == 0 && !needs[i].bar) {
        left_out_.push_back(columns[i].name);
      }
    }
  }

  std::string Text() const {
    std::string text = Header();
    std::size_t index = 0;  // of the row, without counting rules
    for (const auto& row : rows_) text += row.empty() ? Rule() : Row(row, index++);
    if (left_out_.empty()) return text;
    return text + Wrap(indent_ + fmt::format("not shown in {} columns: {}", style_.width,
                                             fmt::join(left_out_, ", ")),
                       style_.width, indent_.size() + 2);
  }

 private:
  template <class Function>
  void ForEachCell(const Function& function) const {
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) function(i, row[i]);
    }
  }

  // Padding is not inked, so it can be removed at the end of a line.
  std::string Padded(std::size_t column, const std::string& text, const std::string& inked) const {
    const std::string padding(widths_[column] - std::min(widths_[column], ColumnsOfText(text)),
                              ' ');
    return drawn_[column].right ? padding + inked : inked + padding;
  }

  std::string Joined(const std::vector<std::string>& cells) const {
    std::string line = indent_;
    bool first = true;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (widths_[i] == 0) continue;
      if (!first) line += std::string(kColumnGap, ' ');
      first = false;
      line += cells[i];
    }
    return WithoutTrailingSpace(line);
  }

  std::string Header() const {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string header = CutMiddle(drawn_[i].header, widths_[i], style_.unicode);
      cells.push_back(Padded(i, header, header));
    }
    return Inked(Ink::kBold, Joined(cells), style_) + "\n";
  }

  std::string Rule() const {
    std::string line;
    for (std::size_t i = 0; i < LineWidth(widths_); ++i) line += style_.unicode ? "\u2500" : "-";
    return indent_ + Inked(Ink::kDim, line, style_) + "\n";
  }

  std::string Row(const std::vector<Cell>& row, std::size_t index) const {
    std::vector<std::vector<std::string>> lines;  // of each column
    std::size_t height = 1;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths_[i] == 0) {
        lines.emplace_back();
      } else if (columns_[i].kind == Kind::kBar) {
        lines.push_back({WithoutTrailingSpace(Bar(ShareOf(row[i]), widths_[i], style_.unicode))});
      } else {
        lines.push_back(
            LinesOf(drawn_[i].cells[index], columns_[i].kind, widths_[i], style_.unicode));
      }
      height = std::max(height, lines.back().size());
    }
    std::string text;
    for (std::size_t line = 0; line < height; ++line) {
      std::vector<std::string> cells;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const Ink ink = columns_[i].kind == Kind::kBar ? Ink::kCyan : row[i].ink;
        const std::string part = line < lines[i].size() ? lines[i][line] : "";
        const auto letter_ink = columns_[i].letter_ink;
        cells.push_back(Padded(i, part,
                               letter_ink == nullptr ? Inked(ink, part, style_)
                                                     : InkedLetters(part, letter_ink, style_)));
      }
      text += Joined(cells) + "\n";
    }
    return text;
  }

  std::span<const Column> columns_;
  const std::vector<std::vector<Cell>>& rows_;
  const Style& style_;
  std::string indent_;
  std::vector<DrawnColumn> drawn_;
  std::vector<std::size_t> widths_;
  std::vector<std::string> left_out_;
};

}  // namespace

void Table::Add(std::vector<Cell> row) {
  if (row.size() != columns_.size()) {
    throw std::invalid_argument(
        fmt::format("a row of {} cells in a table of {} columns", row.size(), columns_.size()));
  }
  rows_.push_back(std::move(row));
}

void Table::AddRule() { rows_.emplace_back(); }

std::string Table::Text(const Style& style, std::size_t indent) const {
  return Drawing(columns_, rows_, style, indent).Text();
}

}  // namespace topdnn
