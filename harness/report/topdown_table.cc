#include "harness/report/topdown_table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "harness/report/text.h"

namespace topdnn {

namespace {

struct Column {
  std::string_view head;
  std::string_view node;
};

constexpr std::array kColumns = {
    Column{"frontend", "Frontend_Bound"}, Column{"bad spec", "Bad_Speculation"},
    Column{"backend", "Backend_Bound"},   Column{"retiring", "Retiring"},
    Column{"memory", "Memory_Bound"},     Column{"core", "Core_Bound"}};
constexpr std::size_t kFigure = 9;  // columns of a figure

// Of cores that count no slots, whatever they have instead.
std::vector<std::string> NodesOf(const Report& report) {
  std::vector<std::string> nodes;
  for (const Record& stage : report.stages) {
    if (!stage.topdown) continue;
    for (const auto& [name, value] : *stage.topdown) {
      const bool known = std::any_of(kColumns.begin(), kColumns.end(),
                                     [&](const Column& column) { return column.node == name; });
      if (name.starts_with("Stalled_") && !known &&
          std::find(nodes.begin(), nodes.end(), name) == nodes.end()) {
        nodes.push_back(name);
      }
    }
  }
  return nodes;
}

std::string Row(const Record& record, const std::string& name, std::size_t width,
                const std::vector<std::string>& more, const Style& style) {
  std::string line = PadRight(Cut(name, width, style.unicode), width);
  const auto add = [&](std::string_view node) {
    std::optional<double> value;
    if (record.topdown && record.topdown->contains(std::string(node))) {
      value = record.topdown->at(std::string(node));
    }
    line += PadLeft(PercentText(value), kFigure);
  };
  for (const Column& column : kColumns) add(column.node);
  for (const std::string& node : more) add(node);
  return line + "\n";
}

}  // namespace

std::string TopdownTableText(const Report& report, const Style& style) {
  const bool any = std::any_of(report.stages.begin(), report.stages.end(),
                               [](const Record& stage) { return stage.topdown.has_value(); });
  if (!any) return "";
  const std::vector<std::string> more = NodesOf(report);
  std::size_t width = 12;
  std::vector<std::string> names;
  for (const Record& stage : report.stages) {
    names.push_back(WordsOf(stage.name + " " + stage.pass));
    width = std::max(width, ColumnsOfText(names.back()));
  }
  width = std::min<std::size_t>(width, 26);
  std::string text = PadRight("Top-Down", width);
  for (const Column& column : kColumns) text += PadLeft(column.head, kFigure);
  for (const std::string& node : more) text += "  " + node;
  text += "\n";
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    text += Row(report.stages[i], names[i], width, more, style);
  }
  return text + Row(report.step, "step", width, more, style);
}

}  // namespace topdnn
