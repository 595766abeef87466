#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/report/registry.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

struct NodeColumn {
  std::string_view head;
  std::string_view node;
};

constexpr std::array kColumns = {
    NodeColumn{"frontend", "Frontend_Bound"}, NodeColumn{"bad spec", "Bad_Speculation"},
    NodeColumn{"backend", "Backend_Bound"},   NodeColumn{"retiring", "Retiring"},
    NodeColumn{"memory", "Memory_Bound"},     NodeColumn{"core", "Core_Bound"}};

// The nodes of cores that count stalled cycles instead of slots, and the slots of the other
// hardware thread.
std::vector<std::string> StalledNodes(const Report& report) {
  std::vector<std::string> nodes;
  for (const Record& stage : report.stages) {
    if (!stage.topdown) continue;
    for (const auto& [name, value] : *stage.topdown) {
      if ((name.starts_with("Stalled_") || name == "SMT_Contention") &&
          std::find(nodes.begin(), nodes.end(), name) == nodes.end()) {
        nodes.push_back(name);
      }
    }
  }
  return nodes;
}

// In percent.
std::optional<double> NodeOf(const Record& record, std::string_view node) {
  if (!record.topdown) return std::nullopt;
  const auto found = record.topdown->find(std::string(node));
  if (found == record.topdown->end() || !found->second) return std::nullopt;
  return 100 * *found->second;
}

}  // namespace

std::string TopdownTableText(const Report& report, const Style& style) {
  const bool any = std::any_of(report.stages.begin(), report.stages.end(),
                               [](const Record& stage) { return stage.topdown.has_value(); });
  if (!any) return "";
  std::vector<std::string> nodes;
  std::vector<Table::Column> columns = {{.name = "Top-Down %"}, {.name = "pass", .least = 9}};
  for (const NodeColumn& column : kColumns) {
    nodes.emplace_back(column.node);
    columns.push_back(
        {.name = std::string(column.head), .kind = Table::Kind::kFigure, .decimals = 1});
  }
  for (const std::string& node : StalledNodes(report)) {
    nodes.push_back(node);
    columns.push_back({.name = node, .kind = Table::Kind::kFigure, .rank = 1, .decimals = 1});
  }
  Table table(std::move(columns));
  const auto add = [&](const Record& record, const std::string& name) {
    std::vector<Table::Cell> row = {name, WordsOf(record.pass)};
    for (const std::string& node : nodes) row.emplace_back(NodeOf(record, node));
    table.Add(std::move(row));
  };
  for (const Record& stage : report.stages) add(stage, stage.name);
  if (report.step.topdown) add(report.step, "step");
  return "\n" + table.Text(style);
}

namespace {

const ReportRegistration kTopdown(TableReport{
    .name = "topdown",
    .place = 1,
    .text = [](const Report& report, const Style& style, const ConsoleOptions&) {
      return TopdownTableText(report, style);
    }});

}  // namespace

}  // namespace topdnn
