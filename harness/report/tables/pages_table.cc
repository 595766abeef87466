// The table of the experiment on pages.

#include <fmt/format.h>

#include <string>

#include "harness/report/grouped_names.h"
#include "harness/report/registry.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

std::string MibText(std::optional<double> bytes) {
  return bytes ? fmt::format("{:.1f}", *bytes / (1 << 20)) : "n/a";
}

std::string FactorOn(const PagesResult& result, const std::string& kind) {
  for (const HugePagesResult& of_kind : result.kinds) {
    if (of_kind.kind == kind && of_kind.factor) return FactorInterval(*of_kind.factor);
  }
  return "";
}

void AddPagesRow(const Record& record, const std::optional<double>& reach, Table& table) {
  if (!record.pages_experiment) return;
  const PagesResult& result = *record.pages_experiment;
  table.Add({record.name, WordsOf(record.pass), record.Median(), MibText(result.bytes),
             reach ? fmt::format("{:.2f}", result.bytes / *reach) : "",
             FactorOn(result, "transparent"), FactorOn(result, "reserved")});
}

std::string ReasonOf(const PagesResult& result, const std::string& kind) {
  for (const HugePagesResult& of_kind : result.kinds) {
    if (of_kind.kind == kind) return of_kind.reason;
  }
  return "";
}

// What the kernel gave, or why it gave nothing.
std::string Proof(const PagesResult& result, const Style& style) {
  std::string text;
  for (const HugePagesResult& of_kind : result.kinds) {
    std::string line = of_kind.kind + " huge pages: ";
    if (of_kind.proved_bytes) {
      line += fmt::format("{} of {} MiB in every round, by /proc/self/smaps",
                          MibText(of_kind.proved_bytes), MibText(result.bytes));
    }
    if (!of_kind.reason.empty()) line += (of_kind.proved_bytes ? "; " : "") + of_kind.reason;
    text += Wrap(line, style.width, 2);
  }
  return text;
}

}  // namespace

std::string PagesTable(const Report& report, const Style& style, const StageTableOptions& stages) {
  constexpr Table::Kind kRight = Table::Kind::kRight;
  if (!report.step.pages_experiment) return "";
  const PagesResult& step = *report.step.pages_experiment;
  Table table({{.name = "stage"},
               {.name = "pass", .least = 9},
               {.name = "time", .kind = Table::Kind::kTime},
               {.name = "operands", .kind = kRight, .unit = "MiB"},
               {.name = "of TLB", .kind = kRight, .unit = "x", .rank = 1},
               {.name = "transparent", .kind = kRight, .unit = "x"},
               {.name = "reserved", .kind = kRight, .unit = "x"}});
  GroupedNames reasons;
  for (const Record* stage : ShownStages(report, stages)) {
    AddPagesRow(*stage, step.small_reach, table);
    if (!stage->pages_experiment) continue;
    for (const HugePagesResult& of_kind : stage->pages_experiment->kinds) {
      if (of_kind.reason.empty() || of_kind.reason == ReasonOf(step, of_kind.kind)) continue;
      reasons.Add(of_kind.kind + " huge pages: " + of_kind.reason, LabelOf(*stage));
    }
  }
  AddPagesRow(report.step, step.small_reach, table);
  std::string text =
      "\n" +
      Wrap(
          "Pages by experiment: the time on pages of 4 KiB over the time on huge pages of 2 MiB "
          "(95 % interval), beside the operands' size and its ratio to the reach of the TLB on 4 "
          "KiB pages",
          style.width, 2) +
      table.Text(style) + Proof(step, style);
  for (const NamesOfText& group : reasons.groups()) {
    text += Wrap(fmt::format("{} ({})", group.text, group.NamesText()), style.width, 2);
  }
  if (!step.small_reach) return text;
  return text + Wrap(fmt::format("the second-level TLB for data reaches {} MiB on pages of 4 KiB, "
                                 "{} MiB on pages of 2 MiB",
                                 MibText(step.small_reach), MibText(step.huge_reach)),
                     style.width, 2);
}

namespace {

const ReportRegistration kPages(TableReport{
    .name = "pages",
    .place = 3,
    .text = [](const Report& report, const Style& style, const ConsoleOptions& options) {
      return PagesTable(report, style, options.stages);
    }});

}  // namespace

}  // namespace topdnn
