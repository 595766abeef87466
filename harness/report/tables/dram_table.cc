#include <algorithm>

#include "harness/counters/source.h"
#include "harness/report/registry.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

std::string DramTableText(const Report& report, const Style& style) {
  const auto counted = [](const Record& record) {
    return record.Event(kDramReadEvent) || record.Event(kDramWriteEvent);
  };
  if (std::none_of(report.stages.begin(), report.stages.end(), counted)) return "";
  constexpr Table::Kind kFigure = Table::Kind::kFigure;
  Table table({{.name = "DRAM"},
               {.name = "pass", .least = 9},
               {.name = "read", .kind = kFigure, .unit = "MB"},
               {.name = "written", .kind = kFigure, .unit = "MB"},
               {.name = "least", .kind = kFigure, .unit = "MB"},
               {.name = "GB/s", .kind = kFigure}});
  const auto add = [&table](const Record& record, const std::string& name) {
    table.Add({name, WordsOf(record.pass), Scaled(record.Event(kDramReadEvent), 1e-6),
               Scaled(record.Event(kDramWriteEvent), 1e-6), Scaled(record.bytes, 1e-6),
               Scaled(record.DramBytesPerSecond(), 1e-9)});
  };
  for (const Record& stage : report.stages) add(stage, stage.name);
  add(report.step, "step");
  return "\n" + table.Text(style);
}

namespace {

const ReportRegistration kDram(TableReport{
    .name = "dram",
    .place = 2,
    .text = [](const Report& report, const Style& style, const ConsoleOptions&) {
      return DramTableText(report, style);
    }});

}  // namespace

}  // namespace topdnn
