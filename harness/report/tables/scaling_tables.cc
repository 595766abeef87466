#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/report/grouped_names.h"
#include "harness/report/registry.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

// "12-38", in percent, rounded outward; "-3 to 2" with a negative end.
std::string PercentText(const Interval& interval) {
  const double low = std::floor(interval.low * 100);
  const double high = std::ceil(interval.high * 100);
  if (low < 0) return fmt::format("{:.0f} to {:.0f}", low, high);
  return fmt::format("{:.0f}-{:.0f}", low, high);
}

std::string Explained(const std::string& line, const Style& style) {
  return "\n" + Wrap(line, style.width, 2);
}

std::string DoubtsText(const GroupedNames& doubts, const Style& style) {
  std::string text;
  for (const NamesOfText& group : doubts.groups()) {
    text += Wrap(fmt::format("{} ({})", group.text, group.NamesText()), style.width, 2);
  }
  return text;
}

// The reasons why an experiment has no result: of the stages that are shown, and of the step.
std::string WhyNotMeasured(const Report& report, const Style& style,
                           const StageTableOptions& stages, std::string Record::*reason) {
  GroupedNames reasons;
  for (const Record* stage : ShownStages(report, stages)) {
    if (!(stage->*reason).empty()) reasons.Add("not measured: " + stage->*reason, LabelOf(*stage));
  }
  if (!(report.step.*reason).empty()) reasons.Add("not measured: " + report.step.*reason, "step");
  return DoubtsText(reasons, style);
}

void AddScaling(const Record& record, Table& table) {
  if (!record.width_experiment) return;
  const WidthResult& result = *record.width_experiment;
  std::vector<Table::Cell> row = {record.name, WordsOf(record.pass)};
  for (const double seconds : result.seconds) row.emplace_back(seconds);
  row.emplace_back(FactorInterval(result.speedup));
  row.emplace_back(PercentText(result.serial_share));
  table.Add(std::move(row));
}

const BandwidthResult* Find(const Record& record, const std::string& resource) {
  const auto& results = record.bandwidth_experiment;
  const auto found =
      std::find_if(results.begin(), results.end(),
                   [&](const BandwidthResult& result) { return result.resource == resource; });
  return found == results.end() ? nullptr : &*found;
}

void AddSensitivity(const Record& record, Table& table) {
  if (record.bandwidth_experiment.empty()) return;
  std::vector<Table::Cell> row = {record.name, WordsOf(record.pass), record.Median()};
  for (const char* resource : {"llc", "dram"}) {
    const BandwidthResult* result = Find(record, resource);
    row.emplace_back(result == nullptr ? "" : FactorInterval(result->slowdown));
    row.emplace_back(result == nullptr ? "" : PercentText(result->slope));
  }
  table.Add(std::move(row));
}

void AddCore(const Record& record, Table& table) {
  if (!record.core_experiment) return;
  const CoreResult& result = *record.core_experiment;
  table.Add({record.name, WordsOf(record.pass), record.Median(), result.native_seconds,
             result.redirected_seconds, PercentText(result.beyond_l1)});
}

}  // namespace

std::string CoreTable(const Report& report, const Style& style, const StageTableOptions& stages) {
  Table table({{.name = "stage"},
               {.name = "pass", .least = 9},
               {.name = "time", .kind = Table::Kind::kTime},
               {.name = "repeated", .kind = Table::Kind::kTime, .rank = 1},
               {.name = "in L1", .kind = Table::Kind::kTime},
               {.name = "beyond L1", .kind = Table::Kind::kRight, .unit = "%"}});
  for (const Record* stage : ShownStages(report, stages)) AddCore(*stage, table);
  const std::string text = WhyNotMeasured(report, style, stages, &Record::core_reason);
  if (table.empty()) return text.empty() ? "" : "\n" + text;
  return Explained(
             "Data in L1 by experiment: the time of a repeated call with its vector operands in "
             "lines of L1, and the share of its time that waits beyond L1 (95 % interval)",
             style) +
         table.Text(style) + text;
}

std::string WidthTable(const Report& report, const Style& style, const StageTableOptions& stages) {
  constexpr Table::Kind kRight = Table::Kind::kRight;
  const std::string reasons = WhyNotMeasured(report, style, stages, &Record::width_reason);
  const std::string line = Explained(
      "Threads by experiment: the time on each number of threads, and the part of the work that "
      "runs on one thread (95 % intervals)",
      style);
  const Record* measured = &report.step;
  for (const Record& stage : report.stages) {
    if (!measured->width_experiment) measured = &stage;
  }
  if (!measured->width_experiment) return reasons.empty() ? "" : line + reasons;
  std::vector<Table::Column> columns = {{.name = "stage"}, {.name = "pass", .least = 9}};
  for (const int threads : measured->width_experiment->threads) {
    columns.push_back({.name = threads == 1 ? "1 thread" : fmt::format("{} threads", threads),
                       .kind = Table::Kind::kTime,
                       .rank = 1});
  }
  columns.push_back({.name = "speed-up", .kind = kRight, .unit = "x"});
  columns.push_back({.name = "serial", .kind = kRight, .unit = "%"});
  Table table(std::move(columns));
  GroupedNames doubts;
  for (const Record* shown : ShownStages(report, stages)) {
    const Record& stage = *shown;
    AddScaling(stage, table);
    if (stage.width_experiment && !stage.width_experiment->doubt.empty()) {
      doubts.Add(stage.width_experiment->doubt, LabelOf(stage));
    }
  }
  AddScaling(report.step, table);
  return line + table.Text(style) + DoubtsText(doubts, style) + reasons;
}

std::string BandwidthTable(const Report& report, const Style& style,
                           const StageTableOptions& stages) {
  constexpr Table::Kind kRight = Table::Kind::kRight;
  const std::string reasons = WhyNotMeasured(report, style, stages, &Record::bandwidth_reason);
  const std::string line = Explained(
      "Bandwidth by experiment: the time beside threads that read as fast as they can, over the "
      "time without them, and how much the time grows if their whole rate is taken (95 % "
      "intervals)",
      style);
  Table table({{.name = "stage"},
               {.name = "pass", .least = 9},
               {.name = "time", .kind = Table::Kind::kTime},
               {.name = "beside LLC", .kind = kRight, .unit = "x", .rank = 1},
               {.name = "LLC slope", .kind = kRight, .unit = "%", .rank = 2},
               {.name = "beside DRAM", .kind = kRight, .unit = "x"},
               {.name = "DRAM slope", .kind = kRight, .unit = "%"}});
  for (const Record* stage : ShownStages(report, stages)) AddSensitivity(*stage, table);
  AddSensitivity(report.step, table);
  if (table.empty()) return reasons.empty() ? "" : line + reasons;
  std::string taken;
  for (const BandwidthResult& result : report.step.bandwidth_experiment) {
    taken += fmt::format("{}{:.0f} % of what they reach alone in {}",
                         taken.empty() ? "the readers took " : ", ", result.taken * 100,
                         result.resource == "llc" ? "the last cache" : "DRAM");
  }
  return line + table.Text(style) + (taken.empty() ? "" : Wrap(taken, style.width, 2)) + reasons;
}

namespace {

const ReportRegistration kWidth(TableReport{
    .name = "width",
    .place = 3,
    .text = [](const Report& report, const Style& style, const ConsoleOptions& options) {
      return WidthTable(report, style, options.stages);
    }});

const ReportRegistration kCore(TableReport{
    .name = "core",
    .place = 3,
    .text = [](const Report& report, const Style& style, const ConsoleOptions& options) {
      return options.AsksFor("core") ? CoreTable(report, style, options.stages) : "";
    }});

const ReportRegistration kBandwidth(TableReport{
    .name = "bandwidth",
    .place = 3,
    .text = [](const Report& report, const Style& style, const ConsoleOptions& options) {
      return BandwidthTable(report, style, options.stages);
    }});

}  // namespace

}  // namespace topdnn
