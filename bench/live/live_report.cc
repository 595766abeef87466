#include "bench/live/live_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/replay/trace_report.h"
#include "harness/report/json.h"
#include "harness/statistics/summary.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kStepsShown = 20;
constexpr const char* kNodes[] = {"Retiring", "Bad_Speculation", "Frontend_Bound", "Backend_Bound"};
constexpr const char* kKernelEvents[] = {"task-clock", "page-faults", "context-switches"};

std::optional<double> Ratio(double value, double of) {
  return of > 0 ? std::optional(value / of) : std::nullopt;
}

// The time to which shares refer: of the program, or of the step that is shown.
double WholeSeconds(const LiveReport& report) {
  return report.step == 0 ? report.program->seconds
                          : report.program->live.steps.at(report.step - 1).seconds;
}

const LiveRow& LiveOf(const LiveReport& report, const MeasuredRow& row) {
  return report.program->live.rows.at(row.row.order);
}

// Seconds of the steps from the second one on: the first one is the warm-up.
std::vector<double> LaterSteps(const LiveTrace& live) {
  std::vector<double> seconds;
  for (std::size_t i = 1; i < live.steps.size(); ++i) seconds.push_back(live.steps[i].seconds);
  return seconds;
}

std::string StepsText(const LiveReport& report, const Style& style) {
  const LiveTrace& live = report.program->live;
  const auto time = [&](double seconds) { return TimeText(seconds, style.unicode); };
  if (live.step_length == 0) return "steps: none: no sequence of primitives is repeated\n";
  const std::vector<double> later = LaterSteps(live);
  std::string text =
      fmt::format("steps: {} of {}; the first took {}, the others {} (median)", live.steps.size(),
                  CountText(static_cast<std::int64_t>(live.step_length), "primitive"),
                  time(live.steps.front().seconds), time(Median(later)));
  if (!live.all_executions) {
    text += fmt::format("; in the first {} primitives", kMostLiveExecutions);
  }
  return Wrap(text, style.width, 2);
}

std::string SeriesText(const LiveReport& report, const Style& style) {
  constexpr auto kTime = Table::Kind::kTime;
  const LiveTrace& live = report.program->live;
  Table table({{.name = "step", .kind = Table::Kind::kRight},
               {.name = "time", .kind = kTime},
               {.name = "in primitives", .kind = kTime},
               {.name = "share", .kind = Table::Kind::kPercent}});
  const std::size_t shown =
      report.all ? live.steps.size() : std::min(live.steps.size(), kStepsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const LiveStep& step = live.steps[i];
    table.Add({fmt::format("{}", i + 1), step.seconds, step.primitive_seconds,
               Ratio(step.primitive_seconds, step.seconds)});
  }
  std::string text = table.Text(style);
  if (shown < live.steps.size()) {
    text += fmt::format("  and {} further steps: --all prints them\n", live.steps.size() - shown);
  }
  return text;
}

std::string HeadText(const LiveReport& report, const Style& style) {
  const LiveProgram& program = *report.program;
  const LiveTrace& live = program.live;
  const auto time = [&](double seconds) { return TimeText(seconds, style.unicode); };
  std::string text;
  const auto add = [&](const std::string& line) { text += Wrap(line, style.width, 2); };
  add(fmt::format("live: {} in {}: {} with a line of oneDNN's log{}",
                  CountText(live.trace.Primitives(), "primitive"),
                  live.processes == 1 ? "1 process" : fmt::format("{} processes", live.processes),
                  live.tasks - live.tasks_without_line + live.lines_without_task,
                  live.trace.library.empty() ? "" : "; " + OneLine(live.trace.library)));
  const double primitives = live.trace.FrameworkSeconds();
  add(fmt::format("program: {}; {} of it in primitives ({})", time(program.seconds),
                  PercentText(Ratio(primitives, program.seconds)), time(primitives)));
  if (live.span_seconds > 0) {
    add(fmt::format("from the first primitive to the last: {}; {} of it between primitives",
                    time(live.span_seconds),
                    PercentText(Ratio(live.between_seconds, live.span_seconds))));
  }
  text += StepsText(report, style);
  const auto note = [&](std::int64_t n, std::string_view what) {
    if (n > 0) add(fmt::format("note: {} {}", CountText(n, "primitive"), what));
  };
  note(live.lines_without_task,
       "without a task: this oneDNN does not announce them (it is built without ITT tasks), so "
       "they have no counters");
  note(live.tasks_without_line - live.tasks_of_kind,
       "without a line: oneDNN's log was off, so ITT's metadata name them, and their time is that "
       "of the task");
  note(live.tasks_of_kind,
       "without a line: this oneDNN has no log, so rows are kinds of primitives");
  if (live.lost > 0) {
    add(
        fmt::format("note: {} lost: topdnn did not run for a second, and the memory for them was "
                    "full",
                    CountText(live.lost, "record")));
  }
  const auto named = [](const TraceRow& row) { return !row.module.empty(); };
  for (const std::string& line : live.notes) add("note: " + OneLine(line));
  if (report.names.operators && live.operators.empty() && live.notes.empty()) {
    add("note: --operators: PyTorch announced no operator: the program does not import torch, or "
        "its Python reads no PYTHONPATH (-E, -I) or no sitecustomize (-S)");
  }
  if (report.names.modules && std::none_of(live.trace.rows.begin(), live.trace.rows.end(), named)) {
    add("note: --modules: no module of PyTorch ran a primitive: the program does not use torch.nn, "
        "or its Python reads no PYTHONPATH (-E, -I) or no sitecustomize (-S)");
  }
  const auto counted = [](const LiveRow& row) { return row.hardware_tasks > 0; };
  if (!report.events.reason.empty()) {
    add("note: no Top-Down: " + report.events.reason);
  } else if (!report.events.names.empty() &&
             std::none_of(live.rows.begin(), live.rows.end(), counted)) {
    add("note: the hardware's events were not counted: `topdnn machine` says why");
  } else if (report.events.table != nullptr) {
    add(fmt::format("Top-Down of {} ({})", report.events.table->cpu, report.events.table->source));
  }
  return text;
}

// The operators by their time, the costliest first.
std::vector<std::pair<std::string, LiveOperator>> OrderedOperators(const LiveTrace& live) {
  std::vector<std::pair<std::string, LiveOperator>> operators(live.operators.begin(),
                                                              live.operators.end());
  std::stable_sort(operators.begin(), operators.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  return operators;
}

std::string OperatorsText(const LiveReport& report, const Style& style) {
  const auto operators = OrderedOperators(report.program->live);
  if (operators.empty()) return "";
  constexpr auto kTime = Table::Kind::kTime;
  Table table({{.name = "operator", .least = 12},
               {.name = "runs", .kind = Table::Kind::kRight},
               {.name = "time", .kind = kTime},
               {.name = "share", .kind = Table::Kind::kPercent},
               {.name = "each", .kind = kTime},
               {.name = "in primitives", .kind = Table::Kind::kPercent}});
  LiveOperator all;
  std::size_t shown = 0;
  for (const auto& [name, own] : operators) {
    all.seconds += own.seconds;
    all.primitive_seconds += own.primitive_seconds;
    if (!report.all && shown++ >= kTraceRowsShown) continue;
    table.Add({OneLine(name), fmt::format("{}", own.runs), own.seconds,
               Ratio(own.seconds, report.program->seconds),
               Ratio(own.seconds, static_cast<double>(own.runs)),
               Ratio(own.primitive_seconds, own.seconds)});
  }
  std::string text =
      Wrap(
          fmt::format("operators of PyTorch: {} of the program's time ({}); {} of it in primitives",
                      PercentText(Ratio(all.seconds, report.program->seconds)),
                      TimeText(all.seconds, style.unicode),
                      PercentText(Ratio(all.primitive_seconds, all.seconds))),
          style.width, 2) +
      table.Text(style);
  if (shown > kTraceRowsShown) {
    text += fmt::format("  and {} further operators: --all prints them\n",
                        operators.size() - kTraceRowsShown);
  }
  return text + "\n";
}

std::string LiveRowsText(const LiveReport& report, const MeasuredTrace& measured,
                         const Style& style) {
  constexpr auto kTime = Table::Kind::kTime;
  constexpr auto kFigure = Table::Kind::kFigure;
  std::vector<Table::Column> columns = {
      {.name = "primitive", .least = 9},
      {.name = "pass", .least = 16, .rank = 2},
      {.name = "problem", .least = 14},
      {.name = "layouts", .least = 12, .rank = 5},
      {.name = "runs", .kind = Table::Kind::kRight},
      {.name = "time", .kind = kTime},
      {.name = "share", .kind = Table::Kind::kPercent},
      {.name = "median", .kind = kTime, .rank = 1},
      {.name = "CPUs", .kind = kFigure, .rank = 2},
      {.name = "faults", .kind = kFigure, .rank = 3},
      {.name = "switches", .kind = kFigure, .rank = 4},
      {.name = "beside", .kind = Table::Kind::kPercent, .rank = 5}};
  if (report.events.table != nullptr) {
    for (const char* node : kNodes) {
      columns.push_back({.name = WordsOf(node), .kind = Table::Kind::kPercent, .rank = 2});
    }
  }
  if (report.names.operators) columns.insert(columns.begin(), {.name = "operator", .least = 12});
  if (report.names.modules) columns.insert(columns.begin(), {.name = "module", .least = 12});
  for (const std::string& event : report.events.names) {
    columns.push_back({.name = event, .kind = kFigure, .rank = 6});
  }
  Table table(columns);
  const double whole = WholeSeconds(report);
  std::size_t shown = 0;
  for (const MeasuredRow& row : measured.rows) {
    if (!report.all && shown++ == kTraceRowsShown) break;
    const LiveRow& live = LiveOf(report, row);
    const auto each = [&live](std::size_t i) {
      return Ratio(live.kernel[i], static_cast<double>(live.tasks));
    };
    const bool counted = live.tasks > 0 && report.step == 0;
    const auto if_counted = [counted](std::optional<double> value) -> Table::Cell {
      return counted ? Table::Cell(value) : Table::Cell(std::string());
    };
    std::vector<Table::Cell> cells = {
        OneLine(row.row.primitive),
        PassText(row.row),
        OneLine(row.row.problem),
        OneLine(LayoutsText(row.row)),
        fmt::format("{}", row.row.count),
        row.row.seconds,
        Ratio(row.row.seconds, whole),
        row.row.MedianSeconds(),
        if_counted(Ratio(live.kernel[LIVE_TASK_CLOCK] * 1e-9, live.seconds)),
        if_counted(each(LIVE_FAULTS)),
        if_counted(each(LIVE_SWITCHES)),
        if_counted(live.overlapped > 0 ? Ratio(static_cast<double>(live.overlapped),
                                               static_cast<double>(live.tasks))
                                       : std::nullopt)};
    if (report.events.table != nullptr) {
      const LiveTopdown topdown = TopdownOf(report.events, live);
      for (const char* node : kNodes) {
        const auto found = topdown.nodes.find(node);
        cells.push_back(if_counted(found == topdown.nodes.end() ? std::nullopt : found->second));
      }
    }
    if (report.names.operators) cells.insert(cells.begin(), OneLine(row.row.operator_name));
    if (report.names.modules) cells.insert(cells.begin(), OneLine(row.row.module));
    for (std::size_t e = 0; e < report.events.names.size(); ++e) {
      const std::optional<double> event = live.Event(e);
      cells.push_back(if_counted(event ? Ratio(*event, static_cast<double>(live.hardware_tasks))
                                       : std::nullopt));
    }
    table.Add(std::move(cells));
  }
  std::string text = table.Text(style);
  if (shown > kTraceRowsShown) {
    text += fmt::format("  and {} further rows: --all prints them\n",
                        measured.rows.size() - kTraceRowsShown);
  }
  return text;
}

Json CountersJson(const LiveReport& report, const LiveRow& live) {
  if (live.tasks == 0 || report.step != 0) return nullptr;
  Json json;
  for (std::size_t i = 0; i < std::size(kKernelEvents); ++i) {
    json[kKernelEvents[i]] = JsonNumber(live.kernel[i]);
  }
  for (std::size_t e = 0; e < report.events.names.size(); ++e) {
    json["perf/" + report.events.names[e]] = JsonNumber(live.Event(e));
  }
  return json;
}

// As many digits as oneDNN prints.
double SixDigits(float seconds) { return std::stod(fmt::format("{:.6g}", seconds)); }

Json StepsJson(const LiveTrace& live) {
  if (live.step_length == 0) return nullptr;
  Json series = Json::array();
  for (const LiveStep& step : live.steps) {
    series.push_back({{"seconds", JsonNumber(step.seconds)},
                      {"primitive_seconds", JsonNumber(step.primitive_seconds)}});
  }
  const std::vector<double> later = LaterSteps(live);
  return {{"primitives", live.step_length},
          {"first_seconds", JsonNumber(live.steps.front().seconds)},
          {"later", SecondsJson(Summarize(later))},
          {"all_primitives", live.all_executions},
          {"series", series}};
}

Json OperatorsJson(const LiveProgram& program) {
  Json operators = Json::array();
  for (const auto& [name, own] : OrderedOperators(program.live)) {
    operators.push_back({{"name", name},
                         {"runs", own.runs},
                         {"seconds", JsonNumber(own.seconds)},
                         {"share", JsonNumber(Ratio(own.seconds, program.seconds))},
                         {"primitive_seconds", JsonNumber(own.primitive_seconds)}});
  }
  return operators;
}

}  // namespace

std::string LiveText(const LiveReport& report, const MeasuredTrace& measured, const Style& style) {
  std::string text = HeadText(report, style);
  if (report.series && report.program->live.step_length > 0) text += SeriesText(report, style);
  if (report.step > 0) {
    text += fmt::format("step {}:\n", report.step);
  } else {
    text += OperatorsText(report, style);
  }
  return measured.rows.empty() ? text : text + LiveRowsText(report, measured, style);
}

std::string LiveProgressText(const LiveFold& fold) {
  const std::vector<TraceRow>& rows = fold.SoFar().rows;
  std::string text = CountText(fold.primitives(), "primitive");
  if (rows.empty()) return text;
  const auto costliest =
      std::max_element(rows.begin(), rows.end(),
                       [](const TraceRow& a, const TraceRow& b) { return a.seconds < b.seconds; });
  if (const double steps = fold.StepsSoFar(); steps > 0) {
    text += fmt::format(", {:.0f} steps", steps);
  }
  return text +
         fmt::format("; costliest: {} {} ({})", OneLine(costliest->primitive),
                     OneLine(costliest->problem),
                     PercentText(Ratio(costliest->seconds, fold.SoFar().FrameworkSeconds())));
}

void AddLiveJson(const LiveReport& report, const MeasuredTrace& measured,
                 nlohmann::ordered_json& trace) {
  const LiveProgram& program = *report.program;
  const LiveTrace& live = program.live;
  trace["live"] = {
      {"program_seconds", JsonNumber(program.seconds)},
      {"program_status", program.status},
      {"span_seconds", live.tasks > 0 ? JsonNumber(live.span_seconds) : Json(nullptr)},
      {"between_seconds", live.tasks > 0 ? JsonNumber(live.between_seconds) : Json(nullptr)},
      {"processes", live.processes},
      {"libraries", live.libraries},
      {"tasks", live.tasks},
      {"tasks_without_line", live.tasks_without_line},
      {"lines_without_task", live.lines_without_task},
      {"lost", live.lost},
      {"step", report.step == 0 ? Json(nullptr) : Json(report.step)},
      {"steps", StepsJson(live)},
      {"operators", OperatorsJson(program)},
      {"notes", live.notes}};
  for (std::size_t i = 0; i < measured.rows.size(); ++i) {
    const MeasuredRow& row = measured.rows[i];
    const LiveRow& counts = LiveOf(report, row);
    Json& json = trace["rows"].at(i);
    const bool has_tasks = counts.tasks > 0 && report.step == 0;
    if (Json& times = json["execution"]["framework"]; times.is_object()) {
      times["samples"] = Json::array();
      for (const float sample : row.row.samples) times["samples"].push_back(SixDigits(sample));
    }
    const auto name = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    json["module"] = name(row.row.module);
    json["operator"] = name(row.row.operator_name);
    json["live_seconds"] = has_tasks ? JsonNumber(counts.seconds) : Json(nullptr);
    json["live_share"] = JsonNumber(Ratio(row.row.seconds, WholeSeconds(report)));
    json["overlapped"] = has_tasks ? Json(counts.overlapped) : Json(nullptr);
    json["counters"] = CountersJson(report, counts);
    json["live_topdown"] = nullptr;
    if (report.events.names.empty() || json["counters"].is_null()) continue;
    const LiveTopdown topdown = TopdownOf(report.events, counts);
    for (const auto& [node, value] : topdown.nodes) json["live_topdown"][node] = JsonNumber(value);
    json["live_topdown_reason"] = topdown.reason.empty() ? Json(nullptr) : Json(topdown.reason);
  }
}

}  // namespace topdnn
