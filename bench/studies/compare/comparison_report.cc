#include "bench/studies/compare/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/report/json.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownRows = 10;     // that do not differ, without --all
constexpr std::size_t kShownCeilings = 4;  // without --all
constexpr std::size_t kNamedInVerdict = 3;
constexpr std::string_view kTaskClock = "task-clock";  // ns

// The rows that differ first, then by time.
std::vector<const ComparisonRow*> Sorted(const Comparison& comparison) {
  std::vector<const ComparisonRow*> rows;
  for (const ComparisonRow& row : comparison.rows) rows.push_back(&row);
  const auto time = [](const ComparisonRow* row) { return row->difference.a.value_or(0); };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto* x, const auto* y) {
    if (x->difference.significant != y->difference.significant) return x->difference.significant;
    return time(x) > time(y);
  });
  return rows;
}

std::string RowNoun(const Comparison& comparison) {
  const bool rows =
      comparison.kind == ResultKind::kGoogleBenchmark || comparison.kind == ResultKind::kTrace;
  return rows ? "row" : "stage";
}

// ": conv2 forward 1.041 to 1.062, ...".
std::string Named(const std::vector<const ComparisonRow*>& rows, std::size_t significant) {
  std::string text;
  for (std::size_t i = 0; i < std::min(significant, kNamedInVerdict); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", OneLine(rows[i]->Label()),
                        RatioIntervalText(rows[i]->difference.interval));
  }
  if (significant > kNamedInVerdict) {
    text += fmt::format(" and {} more", significant - kNamedInVerdict);
  }
  return text;
}

// "slower"; or "the stages that differ are slower in all" if the step itself does not differ.
std::string VerdictWords(const Comparison& comparison) {
  std::string verdict = comparison.Verdict();
  const bool is_of_step = !comparison.step || comparison.step->difference.significant;
  if (is_of_step || comparison.Significant() == 0) return verdict;
  return fmt::format("the {}s that differ are {} in all", RowNoun(comparison), verdict);
}

std::string StepText(const Comparison& comparison) {
  if (!comparison.step) return "";
  const TimeDifference& step = comparison.step->difference;
  const std::string subject = comparison.step->name == "step" ? "the step takes" : "the steps take";
  if (!step.interval) {
    return subject == "the step takes" ? "the step has no interval; "
                                       : "the steps have no interval; ";
  }
  return fmt::format("{} {} times as long in B; ", subject, RatioIntervalText(step.interval));
}

// The shares of the ceilings are columns if the CPUs differ.
Table MakeTable(const std::vector<const ComparisonRow*>& rows, bool ceilings) {
  using Kind = Table::Kind;
  std::vector<Table::Column> columns = {
      {.name = "case", .least = 16, .rank = 1},
      {.name = "stage", .least = 14},
      {.name = "pass", .kind = Kind::kWord},
      {.name = "A", .kind = Kind::kTime},
      {.name = "B", .kind = Kind::kTime},
      {.name = "B / A", .kind = Kind::kFigure, .decimals = 3},
      {.name = "95 % interval", .kind = Kind::kRight},
      {.name = "p (Holm)", .kind = Kind::kFigure, .rank = 2},
      {.name = "effect", .kind = Kind::kFigure, .rank = 3, .decimals = 2},
      {.name = "differs", .kind = Kind::kWord},
      {.name = "status", .kind = Kind::kWord, .rank = 4}};
  if (ceilings) {
    columns.push_back({.name = "A peak", .kind = Kind::kPercent});
    columns.push_back({.name = "B peak", .kind = Kind::kPercent});
    columns.push_back({.name = "normalised", .kind = Kind::kFigure, .decimals = 3});
  }
  Table table(std::move(columns));
  for (const ComparisonRow* row : rows) {
    const TimeDifference& own = row->difference;
    const bool slower = own.significant && *own.ratio > 1;
    const std::string word = own.significant ? (slower ? "slower" : "faster") : "";
    std::vector<Table::Cell> cells = {OneLine(row->case_name),
                                      OneLine(row->name),
                                      WordsOf(OneLine(row->pass)),
                                      own.a,
                                      own.b,
                                      own.ratio,
                                      RatioIntervalText(own.interval),
                                      own.adjusted_p,
                                      own.effect,
                                      Table::Cell(word, slower ? Ink::kRed : Ink::kCyan),
                                      row->status == "OK" ? std::string() : OneLine(row->status)};
    if (ceilings) cells.insert(cells.end(), {row->a_peak, row->b_peak, row->NormalisedRatio()});
    table.Add(std::move(cells));
  }
  return table;
}

// Of two live runs: how often the rows ran, and the counters of one run.
std::string CountsText(const std::vector<const ComparisonRow*>& rows, const Style& style) {
  using Kind = Table::Kind;
  const auto any = std::find_if(rows.begin(), rows.end(),
                                [](const ComparisonRow* row) { return !row->counts.empty(); });
  if (any == rows.end()) return "";
  std::vector<Table::Column> columns = {{.name = "counts of one run", .least = 40},
                                        {.name = "pass", .kind = Kind::kWord}};
  int rank = 0;
  for (const ComparisonRow::Count& count : (*any)->counts) {
    const std::string name = count.name == kTaskClock ? "CPU time" : OneLine(count.name);
    const Kind kind = count.name == kTaskClock ? Kind::kTime : Kind::kFigure;
    columns.push_back({.name = name + " A", .kind = kind, .rank = rank});
    columns.push_back({.name = name + " B", .kind = kind, .rank = rank++});
  }
  Table table(columns);
  for (const ComparisonRow* row : rows) {
    if (row->counts.size() != (*any)->counts.size()) continue;  // (the step; a row without tasks)
    std::vector<Table::Cell> cells = {OneLine(row->name), WordsOf(OneLine(row->pass))};
    for (const ComparisonRow::Count& count : row->counts) {
      for (std::optional<double> value : {count.a, count.b}) {
        if (value && count.name == kTaskClock) *value *= 1e-9;
        cells.emplace_back(value);
      }
    }
    table.Add(std::move(cells));
  }
  return "\n" + table.Text(style);
}

void AddLines(const std::vector<std::string>& lines, std::size_t most, const Style& style,
              std::string& text) {
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) {
    text += Wrap("  " + OneLine(lines[i]), style.width, 4);
  }
  if (lines.size() > most) text += fmt::format("  {} more with --all\n", lines.size() - most);
}

Json RowJson(const ComparisonRow& row) {
  const TimeDifference& own = row.difference;
  Json json = Json::object();
  if (!row.case_name.empty()) json["case"] = row.case_name;
  json["name"] = row.name;
  json["pass"] = row.pass.empty() ? Json(nullptr) : Json(row.pass);
  json["a"] = JsonNumber(own.a);
  json["b"] = JsonNumber(own.b);
  json["ratio"] = JsonNumber(own.ratio);
  json["ci95"] = nullptr;
  if (own.interval) json["ci95"] = {JsonNumber(own.interval->low), JsonNumber(own.interval->high)};
  json["p"] = JsonNumber(own.adjusted_p);
  json["p_single"] = JsonNumber(own.p);
  json["effect"] = JsonNumber(own.effect);
  json["significant"] = own.significant;
  json["a_peak_fraction"] = JsonNumber(row.a_peak);
  json["b_peak_fraction"] = JsonNumber(row.b_peak);
  json["ratio_normalised"] = JsonNumber(row.NormalisedRatio());
  json["status"] = row.status.empty() ? Json(nullptr) : Json(row.status);
  json["reason"] = row.reason.empty() ? Json(nullptr) : Json(row.reason);
  for (const ComparisonRow::Count& count : row.counts) {
    json["counts"][count.name] = {{"a", JsonNumber(count.a)}, {"b", JsonNumber(count.b)}};
  }
  return json;
}

// What to run where the times allow both.
std::string WhatTells(const Comparison& comparison) {
  if (!comparison.CannotTell()) return "";
  const std::string both =
      fmt::format("both no change and one of {:.3g} %", 100 * comparison.limit);
  switch (comparison.kind) {
    case ResultKind::kGoogleBenchmark:
      return fmt::format("the times allow {}: more --benchmark_repetitions narrow it", both);
    case ResultKind::kTrace:
      return fmt::format(
          "the times allow {}: measure both again when the machine is idle, and live runs with "
          "more steps",
          both);
    default:
      return fmt::format(
          "the times allow {}: --rerun --repeats 8 runs both again in turns; for single kernels, "
          "bench --benchmark_repetitions=8 --benchmark_out=FILE on each side",
          both);
  }
}

}  // namespace

std::string RatioIntervalText(const std::optional<Interval>& interval) {
  if (!interval) return std::string(kAbsentText);
  return fmt::format("{:.3f} to {:.3f}", interval->low, interval->high);
}

std::string VerdictLine(const Comparison& comparison) {
  if (!comparison.not_comparable.empty()) {
    return fmt::format("{}: {}; the times of what both have are listed without a test",
                       comparison.Verdict(), comparison.not_comparable);
  }
  const std::vector<const ComparisonRow*> rows = Sorted(comparison);
  const std::size_t significant = comparison.Significant();
  const std::string noun = RowNoun(comparison) + (significant > 1 ? "s" : "");
  return fmt::format("{}: {}{} {} of {} {} (Holm, 5 %){}", VerdictWords(comparison),
                     StepText(comparison), significant == 0 ? "no" : std::to_string(significant),
                     noun, rows.size(), significant > 1 ? "differ" : "differs",
                     Named(rows, significant));
}

std::string ComparisonText(const Comparison& comparison, bool all, const Style& style) {
  std::string text = VerdictLine(comparison) + "\n";
  if (const std::string what = WhatTells(comparison); !what.empty()) {
    text += Wrap(what, style.width, 2);
  }
  const std::size_t most = all ? SIZE_MAX : kShownCeilings;
  if (!comparison.differences.empty() || !comparison.ceilings.empty()) text += "differences:\n";
  AddLines(comparison.differences, SIZE_MAX, style, text);
  AddLines(comparison.ceilings, most, style, text);
  if (!comparison.notes.empty()) text += "notes:\n";
  AddLines(comparison.notes, all ? SIZE_MAX : kShownRows, style, text);
  std::vector<const ComparisonRow*> rows = Sorted(comparison);
  const std::size_t shown = all ? rows.size() : comparison.Significant() + kShownRows;
  const std::size_t left = rows.size() > shown ? rows.size() - shown : 0;
  rows.resize(rows.size() - left);
  const bool own_step = comparison.step && comparison.step->name == "step";
  if (own_step) rows.insert(rows.begin(), &*comparison.step);
  const bool other_cpu =
      std::any_of(comparison.differences.begin(), comparison.differences.end(),
                  [](const std::string& line) { return line.starts_with("machine: CPU"); });
  text += "\n" + MakeTable(rows, other_cpu).Text(style) + CountsText(rows, style);
  if (left > 0) text += fmt::format("{} more rows with --all\n", left);
  return text;
}

Json ComparisonJson(const Comparison& comparison, const std::string& a, const std::string& b) {
  Json json = Json::object();
  json["schema"] = kResultSchema;
  json["a"] = a;
  json["b"] = b;
  json["verdict"] = comparison.Verdict();
  json["summary"] = VerdictLine(comparison);
  json["correction"] = "holm";
  json["rows"] = Json::array();
  for (const ComparisonRow& row : comparison.rows) json["rows"].push_back(RowJson(row));
  json["step"] = comparison.step ? RowJson(*comparison.step) : Json(nullptr);
  json["differences"] = comparison.differences;
  for (const std::string& line : comparison.ceilings) json["differences"].push_back(line);
  json["notes"] = comparison.notes;
  if (const std::string what = WhatTells(comparison); !what.empty()) json["notes"].push_back(what);
  return json;
}

}  // namespace topdnn
