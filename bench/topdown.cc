#include "bench/topdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/command.h"
#include "bench/command_parser.h"
#include "harness/report/atomic_file.h"
#include "harness/report/one_line.h"
#include "harness/topdown/advice.h"
#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

struct Evaluated {
  const TopdownTable* table;
  TopdownResult result;
  std::vector<std::string> notes;
};

Evaluated Evaluate(const std::string& cpu, const RecordedCounts& recorded) {
  const TopdownTable& table = FindTopdownTable(cpu);
  ResolvedCounts resolved = ResolveCounts(table, recorded);
  const bool nothing = resolved.counts.empty();
  Evaluated report{&table, EvaluateTopdown(table, resolved.counts, recorded.smt),
                   std::move(resolved.notes)};
  if (!table.note.empty()) report.notes.push_back(table.note);
  if (nothing) {
    report.notes.push_back("none of the recorded events belongs to this CPU's table");
  }
  return report;
}

Json ToJson(const TopdownResult::Values& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = value ? Json(*value) : Json(nullptr);
  return object;
}

Json ToJson(const std::string& cpu, const Evaluated& report) {
  Json advice = Json::array();
  for (const TopdownAdvice& item : AdviseOn(report.result)) {
    advice.push_back({{"node", item.node}, {"value", item.value}, {"advice", item.sentence}});
  }
  Json json = {{"cpu", cpu},
               {"level1", ToJson(report.result.level1)},
               {"level2", ToJson(report.result.level2)},
               {"missing", report.result.missing}};
  if (!report.result.level3.empty()) json["level3"] = ToJson(report.result.level3);
  if (!report.result.instead.empty()) json["instead"] = ToJson(report.result.instead);
  json["path"] = report.result.path;
  json["source"] = report.table->source;
  json["notes"] = report.notes;
  json["advice"] = advice;
  return json;
}

void PrintValues(const char* title, const TopdownResult::Values& values) {
  if (values.empty()) return;
  fmt::print("{}\n", title);
  for (const auto& [name, value] : values) {
    if (!value) {
      fmt::print("  {:<20} {:>7}\n", name, "n/a");
      continue;
    }
    const auto width = std::lround(40 * std::min(*value, 1.0));
    fmt::print("  {:<20} {:>6.1f}%  {}\n", name, 100 * *value,
               std::string(static_cast<std::size_t>(width), '#'));
  }
}

void Print(const std::string& cpu, const Evaluated& report) {
  fmt::print("Top-Down of {} ({}; {})\n", cpu, report.result.path, report.table->source);
  PrintValues("level 1, fractions of pipeline slots", report.result.level1);
  PrintValues("level 2, fractions of pipeline slots", report.result.level2);
  PrintValues("level 3, fractions of cycles", report.result.level3);
  PrintValues("instead, fractions of cycles", report.result.instead);
  for (const TopdownAdvice& item : AdviseOn(report.result)) {
    fmt::print("{} {:.0f}%: {}.\n", item.node, 100 * item.value, item.sentence);
  }
  if (!report.result.missing.empty()) {
    fmt::print("not counted: {}\n", fmt::join(report.result.missing, " "));
  }
  for (const std::string& note : report.notes) fmt::print("note: {}\n", OneLine(note));
}

}  // namespace

nlohmann::ordered_json TopdownJson(const std::string& cpu, const RecordedCounts& recorded) {
  return ToJson(cpu, Evaluate(cpu, recorded));
}

int RunTopdown(const std::string& cpu, const std::string& events_file,
               const std::optional<std::string>& json_file) {
  FindTopdownTable(cpu);  // reports an unknown CPU before a long file is read
  const Evaluated report = Evaluate(cpu, ReadRecordedCounts(events_file));
  const std::string json = ToJson(cpu, report).dump(2) + "\n";
  if (json_file) WriteFileAtomically(*json_file, json);
  if (json_file != kStandardOutput) Print(cpu, report);
  return 0;
}

namespace {

struct TopdownOptions {
  std::string cpu, events;
  std::optional<std::string> json;
};

std::function<int()> Configure(CommandParser& parser) {
  auto options = std::make_shared<TopdownOptions>();
  parser.Require("--cpu", options->cpu, "sapphire_rapids, zen4, neoverse_v1, ...");
  parser.Require("--events", options->events,
                 "file of counts: topdnn's JSON, perf stat -x, or perf stat -j");
  parser.Add("--json", options->json,
             "write the result to this file as JSON; - is standard output");
  return [options] {
    if (options->json) CheckOutputs({*options->json}, {options->events});
    return RunTopdown(options->cpu, options->events, options->json);
  };
}

const CommandRegistration kTopdown({"topdown", "Top-Down from counts recorded elsewhere",
                                    Configure});

}  // namespace

}  // namespace topdnn
