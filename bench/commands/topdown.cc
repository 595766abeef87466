// `topdnn topdown --cpu NAME --events FILE`: Top-Down from counts recorded elsewhere.

#include <fmt/format.h>

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
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/text/table.h"
#include "harness/text/text.h"
#include "harness/topdown/advice.h"
#include "harness/topdown/event_file.h"
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

std::string ValuesText(const char* title, const TopdownResult::Values& values, const Style& style) {
  if (values.empty()) return "";
  Table table({{.name = title, .least = 30},
               {.name = "share", .kind = Table::Kind::kPercent},
               {.name = "", .kind = Table::Kind::kBar}});
  for (const auto& [name, value] : values) table.Add({name, value, value});
  return table.Text(style);
}

void Print(const std::string& cpu, const Evaluated& report) {
  const Style style = DetectStyle(stdout);
  std::string text =
      fmt::format("Top-Down of {} ({}; {})\n", cpu, report.result.path, report.table->source);
  text += ValuesText("level 1, of pipeline slots", report.result.level1, style);
  text += ValuesText("level 2, of pipeline slots", report.result.level2, style);
  text += ValuesText("level 3, of cycles", report.result.level3, style);
  text += ValuesText("instead, of cycles", report.result.instead, style);
  const auto add = [&](const std::string& line) { text += Wrap(line, style.width, 2); };
  for (const TopdownAdvice& item : AdviseOn(report.result)) {
    add(fmt::format("{} {:.0f} %: {}.", item.node, 100 * item.value, item.sentence));
  }
  if (!report.result.missing.empty()) {
    add(fmt::format("not counted: {}", fmt::join(report.result.missing, " ")));
  }
  for (const std::string& note : report.notes) add("note: " + OneLine(note));
  fmt::print("{}", text);
}

// Prints the table, and writes the JSON if a file is given ("-": to standard output, instead of the
// table). Throws TopdownError for an unknown CPU or bad input.
int RunTopdown(const std::string& cpu, const std::string& events_file,
               const std::optional<std::string>& json_file) {
  FindTopdownTable(cpu);  // reports an unknown CPU before a long file is read
  const Evaluated report = Evaluate(cpu, ReadRecordedCounts(events_file));
  const std::string json = ToJson(cpu, report).dump(2) + "\n";
  if (json_file) WriteFileAtomically(*json_file, json);
  if (json_file != kStandardOutput) Print(cpu, report);
  return 0;
}

struct TopdownOptions {
  std::string cpu, events;
  std::optional<std::string> json;
};

std::function<int()> ConfigureTopdown(CommandParser& parser) {
  std::vector<std::string> cpus;
  for (const TopdownTable& table : TopdownTables()) cpus.push_back(table.cpu);
  auto options = std::make_shared<TopdownOptions>();
  parser.Require(fmt::format("--cpu {}", fmt::join(cpus, "|")), options->cpu,
                 "the CPU that counted");
  parser.Require("--events FILE", options->events,
                 "file of counts: topdnn's JSON, perf stat -x, or perf stat -j");
  parser.Add("--json FILE", options->json,
             "write the result to this file as JSON; - is standard output");
  return [options] {
    if (options->json) CheckOutputs({*options->json}, {options->events});
    return RunTopdown(options->cpu, options->events, options->json);
  };
}

const CommandRegistration kTopdown({"topdown", Question::kExplain,
                                    "Top-Down from counts recorded elsewhere", ConfigureTopdown,
                                    "topdnn topdown --cpu sapphire_rapids --events counts.json"});

}  // namespace

}  // namespace topdnn
