#include "bench/studies/compare/exact_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "bench/studies/results/result_file.h"
#include "harness/text/grouped_digits.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownLoops = 3;  // without `all`

std::uint64_t CountOf(const std::optional<NamedCounts>& counts, const std::string& name) {
  if (!counts) return 0;
  const auto found = counts->find(name);
  return found == counts->end() ? 0 : found->second;
}

std::int64_t GrownBy(const ExactRow& row) {
  return static_cast<std::int64_t>(CountOf(row.b, "instructions")) -
         static_cast<std::int64_t>(CountOf(row.a, "instructions"));
}

// The rows that differ, with the largest difference of instructions first.
std::vector<const ExactRow*> Changed(const ExactComparison& comparison) {
  std::vector<const ExactRow*> rows;
  for (const ExactRow& row : comparison.rows) {
    if (row.Differs()) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* x, const auto* y) {
    return std::abs(GrownBy(*x)) > std::abs(GrownBy(*y));
  });
  return rows;
}

// "+2,688".
std::string SignedText(std::int64_t number) {
  return (number < 0 ? "-" : "+") + GroupedDigits(static_cast<std::uint64_t>(std::abs(number)));
}

// "+0.013 %", "" if equal, "new" if there was none.
std::string GrowthText(const ExactRow& row, const std::string& name) {
  const std::uint64_t a = CountOf(row.a, name);
  const std::uint64_t b = CountOf(row.b, name);
  if (a == b) return "";
  const std::optional<double> growth = GrowthOf(a, b);
  return growth ? fmt::format("{:+.3g} %", *growth * 100) : "new";
}

// ", instructions +0.013 %, loads +0.002 %".
std::string GrowthsText(const ExactRow& row) {
  std::string text;
  for (const char* name : kComparedCounts) {
    const std::string growth = GrowthText(row, name);
    if (!growth.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, growth);
  }
  return text.empty() ? "only the kinds of instructions" : text;
}

std::string SummaryLine(const ExactComparison& comparison) {
  const ExactRow step = comparison.Step();
  const std::size_t different = comparison.Different();
  const std::size_t uncounted = comparison.Uncounted();
  const std::size_t stages = comparison.rows.size() - uncounted;
  const std::string without = uncounted == 0 ? "" : fmt::format("; {} not counted", uncounted);
  if (different == 0) {
    return fmt::format("{}no difference in {} stages: {} instructions each{}",
                       uncounted == 0 ? "" : "cannot tell: ", stages,
                       GroupedDigits(CountOf(step.a, "instructions")), without);
  }
  return fmt::format("different: {} of {} stages; of the step: {}{}", different, stages,
                     step.Differs() ? GrowthsText(step) : "the sums are equal", without);
}

Table ChangedTable(const std::vector<const ExactRow*>& rows) {
  using Kind = Table::Kind;
  std::vector<Table::Column> columns = {{.name = "stage", .least = 14},
                                        {.name = "pass", .kind = Kind::kWord},
                                        {.name = "A", .kind = Kind::kRight, .unit = "instr."},
                                        {.name = "B - A", .kind = Kind::kRight, .unit = "instr."}};
  for (const char* name : kComparedCounts) columns.push_back({.name = name, .kind = Kind::kRight});
  columns.push_back({.name = "remark", .kind = Kind::kWord, .rank = 2});
  Table table(std::move(columns));
  for (const ExactRow* row : rows) {
    std::vector<Table::Cell> cells = {OneLine(row->name), WordsOf(OneLine(row->pass)),
                                      GroupedDigits(CountOf(row->a, "instructions")),
                                      SignedText(GrownBy(*row))};
    for (const char* name : kComparedCounts) cells.emplace_back(GrowthText(*row, name));
    cells.emplace_back(OneLine(row->absent));
    table.Add(std::move(cells));
  }
  return table;
}

std::string LoopLine(const char* side, const std::optional<ComparedLoop>& loop) {
  if (!loop) return fmt::format("  {}: no such loop\n", side);
  return fmt::format("  {}: {}: {} iterations, {} instructions\n", side, OneLine(loop->place),
                     GroupedDigits(loop->iterations), GroupedDigits(loop->instructions));
}

// The code of the hottest loop that differs, in A and B.
std::pair<std::string, std::string> ChangeOf(const ExactRow& row) {
  if (row.loops.empty()) return {};
  const LoopChange& loop = row.loops.front();
  return {loop.a ? loop.a->code : "", loop.b ? loop.b->code : ""};
}

std::string LoopText(const ExactRow& row, const Style& style) {
  if (!row.a || !row.b) return "";
  if (row.loops.empty()) {
    return fmt::format("{}: none of the listed loops differs: the difference is in other code\n",
                       OneLine(row.Label()));
  }
  const LoopChange& loop = row.loops.front();
  std::string text =
      fmt::format("{}: the hottest loop that differs, {} of {} instructions\n",
                  OneLine(row.Label()), SignedText(loop.instructions()), SignedText(GrownBy(row)));
  text += LoopLine("A", loop.a) + LoopLine("B", loop.b);
  if (loop.a && loop.b && loop.a->code == loop.b->code) {
    text += "  the same code runs another number of times\n";
  }
  const std::vector<std::string> none;
  const auto width = static_cast<std::size_t>(std::max(style.width, 60));
  for (const std::string& line : BesideEachOther(loop.a ? loop.a->listing : none,
                                                 loop.b ? loop.b->listing : none, width - 4)) {
    text += "    " + OneLine(line) + "\n";
  }
  return text;
}

// The hottest changed loop of each row. Stages often share a kernel: each change is shown once.
std::string LoopTexts(const std::vector<const ExactRow*>& rows, bool all, const Style& style) {
  std::string text;
  std::set<std::pair<std::string, std::string>> shown;
  std::size_t stages = 0, alike = 0, more = 0;
  for (const ExactRow* row : rows) {
    const std::pair<std::string, std::string> change = ChangeOf(*row);
    if (shown.contains(change)) {
      ++alike;
    } else if (!all && stages == kShownLoops) {
      ++more;
    } else if (const std::string loop = LoopText(*row, style); !loop.empty()) {
      text += "\n" + loop;
      if (!row->loops.empty()) shown.insert(change);
      ++stages;
    }
  }
  if (alike > 0) text += fmt::format("\n{} more stages differ in a loop that is shown\n", alike);
  if (more > 0) text += fmt::format("\n--all shows the loops of {} more stages\n", more);
  return text;
}

Json LoopJson(const std::optional<ComparedLoop>& loop) {
  if (!loop) return nullptr;
  return {{"code", loop->code},
          {"place", loop->place},
          {"iterations", loop->iterations},
          {"entries", loop->entries},
          {"instructions", loop->instructions},
          {"listing", loop->listing}};
}

Json RowJson(const ExactRow& row) {
  Json json = Json::object();
  json["name"] = row.name;
  json["pass"] = row.pass;
  const auto instructions = [](const std::optional<NamedCounts>& counts) {
    return counts ? Json(CountOf(counts, "instructions")) : Json(nullptr);
  };
  json["a"] = instructions(row.a);
  json["b"] = instructions(row.b);
  const bool both = row.a && row.b && CountOf(row.a, "instructions") > 0;
  json["ratio"] = nullptr;
  if (both) {
    json["ratio"] =
        1 + GrowthOf(CountOf(row.a, "instructions"), CountOf(row.b, "instructions")).value_or(0);
  }
  json["unit"] = "instructions";
  json["significant"] = row.Differs();
  json["reason"] = row.absent.empty() ? Json(nullptr) : Json(row.absent);
  json["counts"] = {{"a", row.a ? Json(*row.a) : Json(nullptr)},
                    {"b", row.b ? Json(*row.b) : Json(nullptr)}};
  json["loops"] = Json::array();
  for (const LoopChange& loop : row.loops) {
    json["loops"].push_back({{"a", LoopJson(loop.a)}, {"b", LoopJson(loop.b)}});
  }
  return json;
}

}  // namespace

std::vector<std::string> BesideEachOther(const std::vector<std::string>& a,
                                         const std::vector<std::string>& b, std::size_t columns) {
  // The longest common subsequence of the lines from (i, j) on.
  std::vector<std::vector<std::size_t>> common(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const std::size_t half = (columns - 3) / 2;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& left, char mark, const std::string& right) {
    lines.push_back(fmt::format("{} {} {}", PadRight(Cut(left, half, false), half), mark,
                                Cut(right, half, false)));
    lines.back().erase(lines.back().find_last_not_of(' ') + 1);
  };
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      add(a[i], ' ', b[j]);
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      add(a[i++], '<', "");
    } else {
      add("", '>', b[j++]);
    }
  }
  return lines;
}

std::string ExactText(const ExactComparison& comparison, bool all, const Style& style) {
  std::string text = SummaryLine(comparison) + "\n";
  for (const std::string& line : comparison.differences) {
    text += Wrap("  " + OneLine(line), style.width, 4);
  }
  std::size_t rearranged = 0;
  for (const ExactRow& row : comparison.rows) {
    if (row.uncounted) text += Wrap(OneLine(row.Label() + ": " + row.absent), style.width, 2);
    rearranged += !row.Differs() && !row.loops.empty() ? 1 : 0;
  }
  if (rearranged > 0) {
    text += fmt::format("{} stages have loops of other code with the same counts\n", rearranged);
  }
  const std::vector<const ExactRow*> rows = Changed(comparison);
  if (rows.empty()) return text;
  text += "\n" + ChangedTable(rows).Text(style);
  return text + LoopTexts(rows, all, style);
}

Json ExactJson(const ExactComparison& comparison, const std::string& a, const std::string& b) {
  Json json = {{"schema", kResultSchema},
               {"a", a},
               {"b", b},
               {"exact", true},
               {"verdict", comparison.Verdict()},
               {"summary", SummaryLine(comparison)},
               {"rows", Json::array()}};
  for (const ExactRow& row : comparison.rows) json["rows"].push_back(RowJson(row));
  json["step"] = RowJson(comparison.Step());
  json["differences"] = comparison.differences;
  return json;
}

}  // namespace topdnn
