// `topdnn topdown --cpu NAME --events FILE`: Top-Down from counts recorded elsewhere.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "harness/files/atomic_file.h"
#include "harness/report/publish_result.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/text/table.h"
#include "harness/text/text.h"
#include "harness/topdown/advice.h"
#include "harness/topdown/event_file.h"
#include "harness/topdown/metric.h"
#include "harness/topdown/topdown_reading.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const TopdownResult::Values& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = value ? Json(*value) : Json(nullptr);
  return object;
}

// The counts of one control group, or of a file without groups.
struct CountReport {
  std::optional<std::string> group;
  TopdownReading whole;
  std::vector<std::pair<std::string, TopdownReading>> series;  // by the interval's time
};

void AddNodes(const TopdownResult& result, Json& json) {
  json["level1"] = ToJson(result.level1);
  json["level2"] = ToJson(result.level2);
  if (!result.level3.empty()) json["level3"] = ToJson(result.level3);
  if (!result.level4.empty()) json["level4"] = ToJson(result.level4);
  if (!result.instead.empty()) json["instead"] = ToJson(result.instead);
}

Json ToJson(const CountReport& report) {
  const TopdownResult& result = report.whole.result;
  Json json = Json::object();
  AddNodes(result, json);
  json["missing"] = result.missing;
  json["not_counted"] = report.whole.not_counted;
  json["path"] = result.path;
  json["notes"] = report.whole.notes;
  json["advice"] = Json::array();
  for (const TopdownAdvice& item : AdviseOn(result)) {
    json["advice"].push_back(
        {{"node", item.node}, {"value", item.value}, {"advice", item.sentence}});
  }
  for (const auto& [time, reading] : report.series) {
    Json interval = {{"time", time}};
    if (reading.contradiction.empty()) {
      AddNodes(reading.result, interval);
    } else {
      interval["reason"] = reading.contradiction;
    }
    json["series"].push_back(interval);
  }
  return json;
}

Json ToJson(const std::string& cpu, const TopdownTable& table,
            const std::vector<CountReport>& reports, bool groups) {
  Json json = {{"cpu", cpu}};
  if (groups) {
    for (const CountReport& report : reports) json["groups"][*report.group] = ToJson(report);
  } else {
    if (reports[0].group) json["group"] = *reports[0].group;
    json.update(ToJson(reports[0]));
  }
  json["source"] = table.source;
  return json;
}

std::string ValuesText(const char* title, const TopdownResult::Values& values, const Style& style) {
  if (values.empty()) return "";
  Table table({{.name = title, .least = 30},
               {.name = "share", .kind = Table::Kind::kPercent},
               {.name = "", .kind = Table::Kind::kBar}});
  for (const auto& [name, value] : values) table.Add({name, value, value});
  return table.Text(style);
}

std::string SeriesText(const CountReport& report, const Style& style) {
  constexpr std::size_t kMostRows = 40;
  if (report.series.size() < 2) return "";
  std::vector<Table::Column> columns = {{.name = "interval, to second", .least = 20}};
  for (const auto& [name, value] : report.whole.result.level1) {
    columns.push_back({.name = name, .kind = Table::Kind::kPercent});
  }
  Table table(columns);
  for (std::size_t i = 0; i < std::min(kMostRows, report.series.size()); ++i) {
    const auto& [time, reading] = report.series[i];
    std::vector<Table::Cell> row = {time};
    for (const auto& [name, value] : reading.result.level1) {
      row.push_back(reading.contradiction.empty() ? value : std::nullopt);
    }
    row.resize(columns.size(), std::optional<double>());
    table.Add(row);
  }
  std::string text = table.Text(style);
  if (report.series.size() > kMostRows) {
    text += fmt::format("{} more intervals: --json\n", report.series.size() - kMostRows);
  }
  return text;
}

std::string ReportText(const TopdownTable& table, const CountReport& report, const Style& style) {
  const TopdownResult& result = report.whole.result;
  std::string text;
  if (report.group) text += fmt::format("\ncontrol group {}\n", OneLine(*report.group));
  text += ValuesText("level 1, of pipeline slots", result.level1, style);
  text += ValuesText("level 2, of pipeline slots", result.level2, style);
  text += ValuesText(table.level3_of_slots ? "level 3, of pipeline slots" : "level 3, of cycles",
                     result.level3, style);
  text += ValuesText("level 4, of cycles", result.level4, style);
  text += ValuesText("instead, of cycles", result.instead, style);
  text += SeriesText(report, style);
  const auto add = [&](const std::string& line) { text += Wrap(line, style.width, 2); };
  for (const TopdownAdvice& item : AdviseOn(result)) {
    add(fmt::format("{} {:.0f} %: {}.", item.node, 100 * item.value, item.sentence));
  }
  const auto& uncounted = report.whole.not_counted;
  std::vector<std::string> unrecorded;
  for (const std::string& event : result.missing) {
    if (std::find(uncounted.begin(), uncounted.end(), event) == uncounted.end()) {
      unrecorded.push_back(event);
    }
  }
  if (!uncounted.empty()) {
    add(fmt::format("recorded, but not counted: {}", fmt::join(uncounted, " ")));
  }
  if (!unrecorded.empty()) add(fmt::format("not recorded: {}", fmt::join(unrecorded, " ")));
  for (const std::string& note : report.whole.notes) add("note: " + OneLine(note));
  return text;
}

CountReport ReadGroup(const TopdownTable& table, const RecordedCounts& recorded,
                      const std::optional<std::string>& group, const std::string& where) {
  CountReport report{
      .group = group, .whole = ReadTopdown(table, recorded, {.group = group}), .series = {}};
  if (!report.whole.contradiction.empty()) {
    throw TopdownError(
        fmt::format("{}: {}{}", where, group ? *group + ": " : "", report.whole.contradiction));
  }
  if (!table.note.empty()) report.whole.notes.push_back(table.note);
  auto by_interval = recorded.CountsByInterval();
  for (const std::string& interval : recorded.Intervals()) {
    report.series.emplace_back(interval, ReadTopdown(table, recorded,
                                                     {.group = group,
                                                      .interval = interval,
                                                      .counts = std::move(by_interval[interval])}));
  }
  return report;
}

struct TopdownOptions {
  std::string cpu, events;
  std::optional<std::string> group, json;
};

// One report for each control group of the file, or for the group that the user names.
std::vector<CountReport> ReadGroups(const TopdownTable& table, const TopdownOptions& options) {
  const RecordedCounts recorded = ReadRecordedCounts(options.events);
  const std::vector<std::string> groups = recorded.Groups();
  if (options.group && std::find(groups.begin(), groups.end(), *options.group) == groups.end()) {
    throw TopdownError(fmt::format("--group {}: {} has {}", *options.group, options.events,
                                   groups.empty()
                                       ? "no control groups"
                                       : fmt::format("the groups {}", fmt::join(groups, ", "))));
  }
  if (options.group || groups.empty()) {
    return {ReadGroup(table, recorded, options.group, options.events)};
  }
  std::vector<CountReport> reports;
  reports.reserve(groups.size());
  for (const std::string& group : groups) {
    reports.push_back(ReadGroup(table, recorded, group, options.events));
  }
  return reports;
}

bool HasNodes(const CountReport& report) {
  const TopdownResult& result = report.whole.result;
  for (const auto* values :
       {&result.level1, &result.level2, &result.level3, &result.level4, &result.instead}) {
    for (const auto& [name, value] : *values) {
      if (value) return true;
    }
  }
  return false;
}

// Prints the table, and writes the JSON if a file is given. kExitNothing if the counts give no
// node. Throws TopdownError for an unknown CPU or bad input.
int RunTopdown(const TopdownOptions& options) {
  const TopdownTable& table = FindTopdownTable(options.cpu);
  const std::vector<CountReport> reports = ReadGroups(table, options);
  const bool groups = !options.group && reports[0].group;
  PublishResult(
      options.json.value_or(""), [&] { return ToJson(options.cpu, table, reports, groups); },
      [&](const Style& style) {
        std::string text = fmt::format("Top-Down of {} ({}; {})\n", options.cpu,
                                       reports[0].whole.result.path, table.source);
        for (const CountReport& report : reports) text += ReportText(table, report, style);
        return text;
      });
  return std::any_of(reports.begin(), reports.end(), HasNodes) ? kExitGood : kExitNothing;
}

std::function<int()> ConfigureTopdown(CommandParser& parser) {
  std::vector<std::string> cpus;
  for (const TopdownTable& table : TopdownTables()) cpus.push_back(table.cpu);
  auto options = std::make_shared<TopdownOptions>();
  parser.Require(fmt::format("--cpu {}", fmt::join(cpus, "|")), options->cpu,
                 "the CPU that counted");
  parser.Require("--events FILE", options->events,
                 "file of counts: topdnn's JSON, perf stat -x, or perf stat -j");
  parser.Add("--group NAME", options->group,
             "only this control group of perf stat --for-each-cgroup");
  parser.Add("--json FILE", options->json,
             "write the result to this file as JSON; - is standard output");
  return [options] {
    if (options->json) CheckOutputs({*options->json}, {options->events});
    return RunTopdown(*options);
  };
}

const CommandRegistration kTopdown({"topdown", Question::kExplain,
                                    "Top-Down from counts recorded elsewhere", ConfigureTopdown,
                                    "topdnn topdown --cpu sapphire_rapids --events counts.json"});

}  // namespace

}  // namespace topdnn
