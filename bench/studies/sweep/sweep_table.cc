#include "bench/studies/sweep/sweep_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "bench/studies/sweep/sweep.h"
#include "bench/studies/sweep/sweep_axes.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMs = 1e3;

// For a terminal: networks may be names of files, and reasons are lines of a program.
std::string TextOf(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? OneLine(value.get<std::string>()) : value.dump();
}

std::optional<double> NumberOf(const Json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// The median step of a row; null if it has none.
Json StepMedian(const Json& row) {
  const auto step = row.find("step");
  if (step == row.end() || !step->is_object()) return {};
  const auto seconds = step->find("seconds");
  if (seconds == step->end() || !seconds->is_object()) return {};
  return seconds->value("median", Json());
}

// "12.1-12.5", in milliseconds.
std::string IntervalText(const Json& row) {
  const auto step = row.find("step");
  if (step == row.end() || !step->is_object()) return "";
  const Json ci95 = step->value("ci95", Json());
  if (!ci95.is_array() || ci95.size() != 2 || !ci95[0].is_number() || !ci95[1].is_number()) {
    return "n/a";
  }
  return fmt::format("{}-{}", ThreeDigits(ci95[0].get<double>() * kMs),
                     ThreeDigits(ci95[1].get<double>() * kMs));
}

// Two numbers by their value, other values by their text.
bool Before(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.get<double>() < b.get<double>();
  return TextOf(a) < TextOf(b);
}

std::vector<Json> Sorted(const Json& index) {
  std::vector<Json> rows(index.at("cases").begin(), index.at("cases").end());
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    for (const SweepAxis& axis : SweepAxes()) {
      const Json left = a.value(axis.key, Json());
      const Json right = b.value(axis.key, Json());
      if (Before(left, right)) return true;
      if (Before(right, left)) return false;
    }
    return a.value("repeat", 1) < b.value("repeat", 1);
  });
  return rows;
}

// The axes on which the cases differ; the others are in the line above the table.
std::vector<const SweepAxis*> VaryingAxes(const std::vector<Json>& rows, std::string& constant) {
  std::vector<const SweepAxis*> varying;
  for (const SweepAxis& axis : SweepAxes()) {
    std::set<std::string> values;
    for (const Json& row : rows) values.insert(TextOf(row.value(axis.key, Json())));
    if (values.size() > 1) {
      varying.push_back(&axis);
    } else if (!values.empty() && !values.begin()->empty()) {
      constant += fmt::format("{}{} {}", constant.empty() ? "" : ", ", axis.key, *values.begin());
    }
  }
  return varying;
}

// Cases without times, by their reason.
std::string ReasonsText(const std::vector<Json>& rows, const Style& style) {
  std::map<std::string, std::vector<std::string>> ids;
  for (const Json& row : rows) {
    const std::string status = TextOf(row.value("status", Json()));
    if (IsMeasured(status)) continue;
    ids[status + ": " + TextOf(row.value("reason", Json()))].push_back(
        TextOf(row.value("id", Json())));
  }
  std::string text;
  for (const auto& [reason, cases] : ids) {
    text += Wrap(fmt::format("{} ({})", reason, fmt::join(cases, ", ")), style.width, 2);
  }
  return text;
}

std::string TimeLine(const Json& index) {
  const auto seconds = index.find("seconds");
  if (seconds == index.end()) return "";
  const double all = seconds->value("all", 0.0);
  const double processes = seconds->value("processes", 0.0);
  const double measuring = seconds->value("measuring", 0.0);
  if (!(all > 0)) return "";
  return fmt::format(
      "{:.0f} s in all: {:.1f} % warm-up and measuring in the cases, {:.1f} % their start, "
      "planning and checks, {:.1f} % the sweep itself\n",
      all, 100 * measuring / all, 100 * (processes - measuring) / all,
      100 * (all - processes) / all);
}

}  // namespace

std::string SweepRowText(const Json& row) {
  const std::string status = TextOf(row.value("status", Json()));
  const auto step = NumberOf(StepMedian(row));
  if (!step) return fmt::format("{}: {}", status, TextOf(row.value("reason", Json())));
  return fmt::format("{} ms ({})", ThreeDigits(*step * kMs), status);
}

std::string SweepTable(const Json& index, const Style& style) {
  const std::vector<Json> rows = Sorted(index);
  std::string constant;
  const std::vector<const SweepAxis*> varying = VaryingAxes(rows, constant);
  std::vector<Table::Column> columns;
  std::transform(varying.begin(), varying.end(), std::back_inserter(columns),
                 [](const SweepAxis* axis) -> Table::Column {
                   return {.name = axis->key,
                           .kind = axis->number ? Table::Kind::kRight : Table::Kind::kWord};
                 });
  columns.push_back({.name = "step", .kind = Table::Kind::kTime});
  columns.push_back({.name = "95 %", .kind = Table::Kind::kRight, .unit = "ms", .rank = 1});
  columns.push_back({.name = "compute", .kind = Table::Kind::kTime});
  columns.push_back({.name = "input wait", .kind = Table::Kind::kTime});
  columns.push_back({.name = "images/s", .kind = Table::Kind::kFigure, .rank = 2});
  columns.push_back({.name = "status", .kind = Table::Kind::kWord, .rank = 1});
  Table table(columns);
  for (const Json& row : rows) {
    std::vector<Table::Cell> cells;
    cells.reserve(columns.size());
    for (const SweepAxis* axis : varying) cells.emplace_back(TextOf(row.value(axis->key, Json())));
    cells.emplace_back(NumberOf(StepMedian(row)));
    cells.emplace_back(IntervalText(row));
    cells.emplace_back(NumberOf(row.value("compute", Json())));
    cells.emplace_back(NumberOf(row.value("input_wait", Json())));
    cells.emplace_back(NumberOf(row.value("images_per_second", Json())));
    cells.emplace_back(TextOf(row.value("status", Json())));
    table.Add(std::move(cells));
  }
  std::string text = Wrap(fmt::format("Median times of {}, with the 95 % interval of the step ({})",
                                      CountText(std::ssize(rows), "case"), constant),
                          style.width, 2);
  text += table.Text(style) + ReasonsText(rows, style);
  const auto left_out = index.value("left_out", std::int64_t{0});
  if (left_out > 0) {
    text += fmt::format("{} case{} left out; --resume runs {}\n", left_out,
                        left_out == 1 ? " was" : "s were", left_out == 1 ? "it" : "them");
  }
  return text + TimeLine(index);
}

}  // namespace topdnn
