#include "bench/studies/fleet/fleet_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/studies/compare/comparison_report.h"
#include "bench/studies/results/result_file.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;
using Kind = Table::Kind;

const CollectedMachine& FindMachine(const Collection& collection, const std::string& name) {
  std::vector<const CollectedMachine*> found;
  std::vector<std::string> names;
  for (const CollectedMachine& machine : collection.machines) {
    names.push_back(machine.name);
    if (machine.name == name) return machine;
    if (machine.name.starts_with(name)) found.push_back(&machine);
  }
  if (found.size() == 1) return *found.front();
  throw UsageError(fmt::format("--compare {}: {}: give one of {}", OneLine(name),
                               found.empty() ? "no such machine" : "more than one machine",
                               fmt::join(names, ", ")));
}

// A row's case, stage and pass, and how many rows before it have the same ones.
using RowKey = std::tuple<std::string, std::string, std::string, int>;
using RowsByKey = std::vector<std::pair<RowKey, const ComparisonRow*>>;  // in their order

RowsByKey RowsOf(const Comparison& comparison, bool all) {
  RowsByKey rows;
  std::map<RowKey, int> seen;
  const auto add = [&](const ComparisonRow& row) {
    if (!all && row.pass != "step") return;
    RowKey key{row.case_name, row.name, row.pass, 0};
    std::get<int>(key) = seen[key]++;
    rows.emplace_back(std::move(key), &row);
  };
  // (the rows of a single case do not contain its step)
  if (comparison.step && comparison.step->name == "step") add(*comparison.step);
  for (const ComparisonRow& row : comparison.rows) add(row);
  return rows;
}

}  // namespace

FleetComparison CompareMachines(const Collection& collection, const std::string& chosen) {
  const CollectedMachine& a = FindMachine(collection, chosen);
  FleetComparison comparison{.chosen = a.name};
  const ResultFile of_a = ReadResult(a.folder.string());
  for (const CollectedMachine& b : collection.machines) {
    if (&b == &a) continue;
    try {
      comparison.others.push_back(
          {.name = b.name,
           .comparison = CompareResults(PairResults(of_a, ReadResult(b.folder.string())))});
    } catch (const UsageError& error) {  // the two have no finished case in common
      comparison.left_out.push_back(fmt::format("{}: {}", b.name, error.what()));
    }
  }
  if (!comparison.others.empty()) return comparison;
  throw UsageError(fmt::format(
      "--compare {}: {}", OneLine(chosen),
      comparison.left_out.empty() ? "there is no other machine yet" : comparison.left_out.back()));
}

std::string FleetComparisonText(const FleetComparison& comparison, bool all, const Style& style) {
  Table table({{.name = "case", .least = 16, .rank = 1},
               {.name = "stage", .least = 10},
               {.name = "pass", .kind = Kind::kWord},
               {.name = "machine", .least = 12},
               {.name = "time", .kind = Kind::kTime},
               {.name = "ratio", .kind = Kind::kFigure, .decimals = 3},
               {.name = "95 % interval", .kind = Kind::kRight, .rank = 3},
               {.name = "peak", .kind = Kind::kPercent},
               {.name = "normalised", .kind = Kind::kFigure, .decimals = 3},
               {.name = "status", .kind = Kind::kWord, .rank = 2}});
  std::map<RowKey, std::vector<std::pair<std::string, const ComparisonRow*>>> machines;
  std::vector<RowKey> order;
  for (const ComparedMachine& machine : comparison.others) {
    for (const auto& [key, row] : RowsOf(machine.comparison, all)) {
      if (!machines.contains(key)) order.push_back(key);
      machines[key].emplace_back(machine.name, row);
    }
  }
  const auto add = [&table](const ComparisonRow& row, const std::string& machine,
                            std::vector<Table::Cell> figures) {
    std::vector<Table::Cell> cells = {OneLine(row.case_name), OneLine(row.name),
                                      WordsOf(OneLine(row.pass)), OneLine(machine)};
    cells.insert(cells.end(), figures.begin(), figures.end());
    table.Add(std::move(cells));
  };
  for (const RowKey& key : order) {
    const ComparisonRow& own = *machines[key].front().second;
    const auto one = [](const std::optional<double>& value) {
      return value ? std::optional(1.0) : std::nullopt;
    };
    add(own, comparison.chosen,
        {own.difference.a, one(own.difference.a), "", own.a_peak, one(own.a_peak),
         own.a_status == "OK" ? std::string() : OneLine(own.a_status)});
    for (const auto& [machine, row] : machines[key]) {
      const TimeDifference& difference = row->difference;
      add(*row, machine,
          {difference.b, difference.ratio, RatioIntervalText(difference.interval), row->b_peak,
           row->NormalisedRatio(), row->status == "OK" ? std::string() : OneLine(row->status)});
    }
  }
  std::string text = table.Text(style);
  text += Wrap(fmt::format("ratio: to the time on {}; peak: share of the machine's own ceiling; "
                           "normalised: ratio of the times in units of the time at the ceiling",
                           OneLine(comparison.chosen)),
               style.width, 2);
  for (const std::string& machine : comparison.left_out) {
    text += Wrap("not compared: " + OneLine(machine), style.width, 2);
  }
  return text;
}

Json FleetComparisonJson(const FleetComparison& comparison) {
  Json machines = Json::array();
  for (const ComparedMachine& machine : comparison.others) {
    Json json = ComparisonJson(machine.comparison, comparison.chosen, machine.name);
    json["name"] = machine.name;
    machines.push_back(std::move(json));
  }
  return {{"chosen", comparison.chosen},
          {"machines", std::move(machines)},
          {"left_out", comparison.left_out}};
}

}  // namespace topdnn
