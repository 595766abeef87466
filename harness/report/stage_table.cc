#include "harness/report/stage_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "harness/report/opening.h"
#include "harness/report/tree_table.h"
#include "harness/results/groups.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Kind = Table::Kind;
using Cell = Table::Cell;

std::optional<double> Ratio(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || !(*whole > 0)) return std::nullopt;
  return *part / *whole;
}

// A row: a stage, or a sum of stages. A figure that a sum does not have is empty text.
struct TableRow {
  std::string name, pass = {};
  Cell share, time, gflops = "", peak = "";
  Cell nodes = "", bound_by = "";
  std::string implementation = {};  // after its backend, if that is not the usual one
  double bar = 0;                   // share of the longest stage
  const Record* stage = nullptr;    // null: a sum
  bool stands_out = false;          // its status differs from that of the step
};

// Where a column is shown without being asked for: what limits a stage takes the place of figures
// that explain less.
enum class Usual { kAlways, kWithTree, kWithoutTree, kNever };

struct StageColumn {
  std::string_view name;
  Table::Column column;
  Cell (*cell)(const TableRow& row);
  Usual usual = Usual::kAlways;
};

// The cell of a stage; empty in other rows.
template <class Function>
Cell OfStage(const TableRow& row, const Function& function) {
  return row.stage == nullptr ? Cell("") : Cell(function(*row.stage));
}

// One of the times of a stage; absent if the stage failed.
Cell TimeOf(const TableRow& row, double Summary::*time) {
  return OfStage(row, [time](const Record& stage) {
    return stage.Median() ? std::optional((*stage.seconds).*time) : std::nullopt;
  });
}

Cell StatusCell(const TableRow& row) {
  if (row.stage == nullptr || !row.stands_out) return "";
  const Status status = row.stage->status;
  const bool wrong = status == Status::kFailed || status == Status::kInvalid;
  return {std::string(NameOf(status)), wrong ? Ink::kRed : Ink::kYellow};
}

constexpr double kMiB = 1 << 20;

const std::vector<StageColumn>& StageColumns() {
  static const std::vector<StageColumn> columns = {
      {"stage", {.name = "stage"}, [](const TableRow& row) -> Cell { return row.name; }},
      {"pass", {.name = "pass", .least = 16}, [](const TableRow& row) -> Cell { return row.pass; }},
      {"op",
       {.name = "op", .kind = Kind::kWord, .rank = 1},
       [](const TableRow& row) {
         return OfStage(row, [](const Record& stage) { return stage.op; });
       },
       Usual::kNever},
      {"share",
       {.name = "share", .kind = Kind::kPercent},
       [](const TableRow& row) { return row.share; }},
      {"time", {.name = "time", .kind = Kind::kTime}, [](const TableRow& row) { return row.time; }},
      {"min",
       {.name = "min", .kind = Kind::kTime, .rank = 1},
       [](const TableRow& row) { return TimeOf(row, &Summary::min); },
       Usual::kNever},
      {"p90",
       {.name = "p90", .kind = Kind::kTime, .rank = 1},
       [](const TableRow& row) { return TimeOf(row, &Summary::p90); },
       Usual::kNever},
      {"gflops",
       {.name = "GFLOP/s", .kind = Kind::kFigure, .rank = 1},
       [](const TableRow& row) { return row.gflops; },
       Usual::kWithoutTree},
      {"peak",
       {.name = "peak", .kind = Kind::kPercent, .rank = 1},
       [](const TableRow& row) { return row.peak; }},
      {"topdown",
       {.name = "top-down", .kind = Kind::kWord, .rank = 1, .letter_ink = InkOfNodeLetter},
       [](const TableRow& row) { return row.nodes; },
       Usual::kWithTree},
      {"bound_by",
       {.name = "bound by", .kind = Kind::kWord},
       [](const TableRow& row) { return row.bound_by; },
       Usual::kWithTree},
      // Executed FLOPs divided by those of the definition. Padding, masked lanes and partial sums
      // add FLOPs; cheaper algorithms save them.
      {"executed",
       {.name = "executed", .kind = Kind::kFigure, .rank = 1, .decimals = 3},
       [](const TableRow& row) {
         return OfStage(row, [](const Record& r) { return Ratio(r.flops_counted, r.flops); });
       },
       Usual::kWithoutTree},
      {"mflop",
       {.name = "MFLOP", .kind = Kind::kFigure, .rank = 1},
       [](const TableRow& row) {
         return OfStage(row, [](const Record& r) { return Scaled(r.flops, 1e-6); });
       },
       Usual::kNever},
      {"mib",
       {.name = "MiB", .kind = Kind::kFigure, .rank = 1},
       [](const TableRow& row) {
         return OfStage(row, [](const Record& r) { return Scaled(r.bytes, 1 / kMiB); });
       },
       Usual::kNever},
      {"bar",
       {.name = "", .kind = Kind::kBar},
       [](const TableRow& row) -> Cell { return row.bar; },
       Usual::kWithoutTree},
      {"backend",
       {.name = "backend", .kind = Kind::kWord, .rank = 1},
       [](const TableRow& row) {
         return OfStage(row, [](const Record& stage) { return stage.backend; });
       },
       Usual::kNever},
      {"implementation",
       {.name = "implementation", .least = 14, .rank = 2},
       [](const TableRow& row) -> Cell { return row.implementation; }},
      {"framework_op",
       {.name = "framework op", .least = 14, .rank = 2},
       [](const TableRow& row) {
         return OfStage(row, [](const Record& stage) { return stage.framework_op; });
       },
       Usual::kNever},
      {"status", {.name = "status", .kind = Kind::kWord}, StatusCell},
      {"reason",
       {.name = "reason", .kind = Kind::kText, .least = 24, .rank = 2},
       [](const TableRow& row) {
         return OfStage(row, [](const Record& stage) { return stage.reason; });
       },
       Usual::kNever},
  };
  return columns;
}

// The value by which stages are sorted, largest first; absent values come last.
struct SortKey {
  std::string_view name;
  std::optional<double> (*value)(const Record& stage);  // null: by name
};

constexpr std::array kSortKeys = {
    SortKey{"time", [](const Record& stage) { return stage.Median(); }},
    SortKey{"share", [](const Record& stage) { return stage.Median(); }},
    SortKey{"peak", [](const Record& stage) { return stage.PeakFraction(); }},
    SortKey{"name", nullptr}};

std::vector<const Record*> SortedStages(const Report& report, std::string_view sort) {
  std::vector<const Record*> stages;
  for (const Record& stage : report.stages) stages.push_back(&stage);
  if (sort.empty()) return stages;
  const auto* const key = std::find_if(kSortKeys.begin(), kSortKeys.end(),
                                       [&](const SortKey& k) { return k.name == sort; });
  if (key == kSortKeys.end()) {
    throw std::invalid_argument(fmt::format("stages cannot be sorted by '{}'; there are: {}", sort,
                                            fmt::join(StageSortNames(), " ")));
  }
  if (key->value == nullptr) {
    std::stable_sort(stages.begin(), stages.end(),
                     [](const Record* a, const Record* b) { return a->name < b->name; });
    return stages;
  }
  constexpr double kLast = -std::numeric_limits<double>::infinity();
  std::stable_sort(stages.begin(), stages.end(), [&](const Record* a, const Record* b) {
    return key->value(*a).value_or(kLast) > key->value(*b).value_or(kLast);
  });
  return stages;
}

// Whether there is anything to say about what limits a stage.
bool HasTrees(const Report& report) {
  return std::any_of(report.stages.begin(), report.stages.end(), [](const Record& stage) {
    return stage.tree || stage.bound_by || !stage.bound_by_reason.empty();
  });
}

bool IsUsual(const StageColumn& column, bool trees) {
  switch (column.usual) {
    case Usual::kAlways:
      return true;
    case Usual::kWithTree:
      return trees;
    case Usual::kWithoutTree:
      return !trees;
    case Usual::kNever:
      return false;
  }
  return false;
}

Cell NodesCell(const std::optional<TopdownTree>& tree) {
  constexpr std::size_t kLetters = 12;
  return tree ? Cell(NodeLetters(*tree, kLetters)) : Cell("");
}

// `asked`: whether there is a reason why it is not decided.
Cell BoundByCell(const std::optional<BoundBy>& bound_by, bool asked) {
  if (bound_by) return TextOf(*bound_by);
  return asked ? Cell("not decided", Ink::kDim) : Cell("");
}

bool AnyCounted(const Report& report) {
  return std::any_of(report.stages.begin(), report.stages.end(),
                     [](const Record& stage) { return stage.flops_counted.has_value(); });
}

std::vector<const StageColumn*> ChosenColumns(const Report& report,
                                              const std::vector<std::string>& names) {
  std::vector<const StageColumn*> chosen;
  const bool trees = HasTrees(report);
  for (const StageColumn& column : StageColumns()) {
    const bool empty = column.name == "executed" && !AnyCounted(report);
    if (names.empty() && IsUsual(column, trees) && !empty) chosen.push_back(&column);
  }
  for (const std::string& name : names) {
    const auto found = std::find_if(StageColumns().begin(), StageColumns().end(),
                                    [&](const StageColumn& column) { return column.name == name; });
    if (found == StageColumns().end()) {
      throw std::invalid_argument(
          fmt::format("no column '{}'; there are: {}", name, fmt::join(StageColumnNames(), " ")));
    }
    chosen.push_back(&*found);
  }
  return chosen;
}

// The stages that --top leaves out, as one row: the sums of their medians.
TableRow RestRow(std::span<const Record* const> rest, std::optional<double> step) {
  std::optional<double> seconds = 0;
  for (const Record* stage : rest) {
    const std::optional<double> median = stage->Median();
    seconds = seconds && median ? std::optional(*seconds + *median) : std::nullopt;
  }
  return {.name = "all others",
          .pass = CountText(std::ssize(rest), "stage"),
          .share = Ratio(seconds, step),
          .time = seconds};
}

// The remainder of the step: with it, the shares of the groups add up to 100 %.
TableRow RemainderRow(double seconds, std::optional<double> step) {
  return {.name = "remainder", .share = Ratio(seconds, step), .time = seconds};
}

std::string OrderOf(const StageTableOptions& options) {
  return options.sort.empty() && options.top ? "time" : options.sort;
}

// The backend that the subject names, or that of most stages (`auto`): its name is left out.
std::string UsualBackend(const Report& report) {
  std::map<std::string, int> stages;
  for (const Record& stage : report.stages) ++stages[stage.backend];
  for (const auto& [name, value] : report.subject) {
    if (name != "backend" || !value.json().is_string()) continue;
    const auto asked = stages.find(value.json().get<std::string>());
    if (asked != stages.end()) return asked->first;
  }
  const auto most = std::ranges::max_element(stages, {}, [](const auto& s) { return s.second; });
  return most == stages.end() ? "" : most->first;
}

std::string ImplementationOf(const Record& stage, const std::string& usual_backend) {
  const bool usual = stage.backend.empty() || stage.backend == usual_backend;
  return (usual ? "" : stage.backend + " ") + stage.implementation;
}

std::vector<TableRow> RowsOfStages(const Report& report, const StageTableOptions& options) {
  const std::optional<double> step = SecondsForShares(report);
  double longest = 0;
  for (const Record& stage : report.stages) {
    longest = std::max(longest, stage.Median().value_or(0));
  }
  const std::vector<const Record*> stages = SortedStages(report, OrderOf(options));
  const std::size_t shown = std::min(options.top.value_or(stages.size()), stages.size());
  const std::string usual_backend = UsualBackend(report);
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < shown; ++i) {
    const Record& stage = *stages[i];
    const std::optional<double> median = stage.Median();
    rows.push_back({.name = stage.name,
                    .pass = WordsOf(stage.pass),
                    .share = Ratio(median, step),
                    .time = median,
                    .gflops = stage.Gflops(),
                    .peak = stage.PeakFraction(),
                    .nodes = NodesCell(stage.tree),
                    .bound_by = BoundByCell(stage.bound_by, !stage.bound_by_reason.empty()),
                    .implementation = ImplementationOf(stage, usual_backend),
                    .bar = Ratio(median, longest).value_or(0),
                    .stage = &stage,
                    .stands_out = StandsOut(stage, report.step)});
  }
  if (shown < stages.size()) rows.push_back(RestRow(std::span(stages).subspan(shown), step));
  return rows;
}

std::vector<TableRow> RowsOfGroups(const Report& report) {
  const std::optional<double> step = SecondsForShares(report);
  std::vector<TableRow> rows;
  for (const GroupSummary& group : report.groups) {
    const std::optional<double> share = Ratio(group.seconds, step);
    rows.push_back({.name = group.name,
                    .pass = CountText(group.stages, "stage"),
                    .share = share,
                    .time = group.seconds,
                    .gflops = group.gflops,
                    .peak = group.peak_fraction,
                    .nodes = NodesCell(group.tree),
                    .bound_by = BoundByCell(group.bound_by, group.tree.has_value()),
                    .bar = share.value_or(0)});
  }
  // (of a disturbed step, the remainder is time of other programs)
  if (report.remainder_seconds && step == report.step.Median()) {
    rows.push_back(RemainderRow(*report.remainder_seconds, step));
  }
  return rows;
}

}  // namespace

std::vector<std::string> StageSortNames() {
  std::vector<std::string> names;
  names.reserve(std::size(kSortKeys));
  for (const SortKey& key : kSortKeys) names.emplace_back(key.name);
  return names;
}

std::vector<std::string> StageColumnNames() {
  std::vector<std::string> names;
  for (const StageColumn& column : StageColumns()) names.emplace_back(column.name);
  return names;
}

std::vector<const Record*> ShownStages(const Report& report, const StageTableOptions& options) {
  std::vector<const Record*> stages = SortedStages(report, OrderOf(options));
  stages.resize(std::min(options.top.value_or(stages.size()), stages.size()));
  return stages;
}

std::string StageTableText(const Report& report, const Style& style,
                           const StageTableOptions& options) {
  const std::vector<const StageColumn*> chosen = ChosenColumns(report, options.columns);
  std::vector<Table::Column> columns;
  columns.reserve(chosen.size());
  for (const StageColumn* column : chosen) columns.push_back(column->column);
  Table table(std::move(columns));
  const auto add = [&](const TableRow& row) {
    std::vector<Cell> cells;
    cells.reserve(chosen.size());
    for (const StageColumn* column : chosen) cells.push_back(column->cell(row));
    table.Add(std::move(cells));
  };
  table.AddRule();
  for (const TableRow& row : RowsOfStages(report, options)) add(row);
  table.AddRule();
  for (const TableRow& row : RowsOfGroups(report)) add(row);
  table.AddRule();
  const bool letters = std::any_of(chosen.begin(), chosen.end(),
                                   [](const StageColumn* one) { return one->name == "topdown"; });
  return table.Text(style) + (letters ? Wrap(NodeLegend(), style.width, 2) : "");
}

}  // namespace topdnn
