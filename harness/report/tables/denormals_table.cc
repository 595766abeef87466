// The table of the experiment on denormals.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "harness/report/grouped_names.h"
#include "harness/report/registry.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

// The largest share among the operands of a kind, or among the results; empty if there are none.
std::string LargestShare(const DenormalsResult& result, const std::string& kind) {
  double most = -1;
  for (const OperandDenormals& operand : result.operands) {
    const bool counts = operand.result ? kind == "result" : kind == operand.kind;
    if (counts) most = std::max(most, operand.share);
  }
  if (most < 0) return "";
  return most == 0 ? "0" : fmt::format("{:.3g}", most * 100);
}

std::string SmallPercent(const std::optional<double>& share) {
  if (!share) return "";
  return *share == 0 ? "0" : fmt::format("{:.3g}", *share * 100);
}

void AddDenormalsRow(const Record& record, Table& table) {
  if (!record.denormals_experiment) return;
  const DenormalsResult& result = *record.denormals_experiment;
  table.Add({record.name, WordsOf(record.pass), record.Median(), LargestShare(result, "values"),
             LargestShare(result, "weights"), LargestShare(result, "gradients"),
             LargestShare(result, "result"), result.factor ? FactorInterval(*result.factor) : "",
             SmallPercent(result.changed), SmallPercent(result.largest_change)});
}

}  // namespace

std::string DenormalsTable(const Report& report, const Style& style,
                           const StageTableOptions& stages) {
  constexpr Table::Kind kRight = Table::Kind::kRight;
  if (!report.step.denormals_experiment) return "";
  Table table({{.name = "stage"},
               {.name = "pass", .least = 9},
               {.name = "time", .kind = Table::Kind::kTime, .rank = 1},
               {.name = "values", .kind = kRight, .unit = "%"},
               {.name = "weights", .kind = kRight, .unit = "%"},
               {.name = "gradients", .kind = kRight, .unit = "%"},
               {.name = "result", .kind = kRight, .unit = "%"},
               {.name = "slower", .kind = kRight, .unit = "x"},
               {.name = "changed", .kind = kRight, .unit = "%"},
               {.name = "by at most", .kind = kRight, .unit = "%", .rank = 2}});
  GroupedNames reasons;
  for (const Record* stage : ShownStages(report, stages)) {
    AddDenormalsRow(*stage, table);
    if (stage->denormals_experiment && !stage->denormals_experiment->reason.empty()) {
      reasons.Add(stage->denormals_experiment->reason, LabelOf(*stage));
    }
  }
  AddDenormalsRow(report.step, table);
  const std::string& origin = report.step.denormals_experiment->origin;
  std::string text =
      "\n" +
      Wrap(
          "Denormals by experiment: their share of each stage's operands, the time with them over "
          "the time with FTZ and DAZ (95 % interval), and the share of the results that flushing "
          "changes, by at most so much of the largest element",
          style.width, 2) +
      table.Text(style);
  text +=
      Wrap(origin.empty() ? "no operand and no result has denormals" : "they come from: " + origin,
           style.width, 2);
  for (const NamesOfText& group : reasons.groups()) {
    text += Wrap(fmt::format("no factor: {} ({})", group.text, group.NamesText()), style.width, 2);
  }
  return text;
}

namespace {

const ReportRegistration kDenormals(TableReport{
    .name = "denormals",
    .place = 3,
    .text = [](const Report& report, const Style& style, const ConsoleOptions& options) {
      return DenormalsTable(report, style, options.stages);
    }});

}  // namespace

}  // namespace topdnn
