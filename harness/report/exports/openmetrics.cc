// A profile as OpenMetrics text (specification 1.0.0, openmetrics.io), for the textfile collector
// of Prometheus' node_exporter and for the Pushgateway.
//
// Every family is a gauge. The textfile collector reads the older text format of Prometheus, which
// OpenMetrics extends: it refuses the types info and stateset, and it takes "# UNIT" and "# EOF"
// for comments. So a status has the samples of a stateset, 0 or 1 for each state. Times are not a
// summary with quantiles, because the collector would add a sum and a count of 0 to it. A value
// that is absent, or that belongs to an INVALID or FAILED record, has no sample.

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/report/exports/exported.h"
#include "harness/report/registry.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;
using Labels = std::vector<std::pair<std::string, std::string>>;

// The text in UTF-8, with the escapes of a label's value: \\, \" and \n.
std::string LabelValue(std::string_view text) {
  std::string escaped;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    for (const char c : OneLine(text.substr(0, end))) {
      if (c == '\\' || c == '"') escaped += '\\';
      escaped += c;
    }
    if (end == text.size()) return escaped;
    escaped += "\\n";
    text.remove_prefix(end + 1);
  }
}

// [a-zA-Z_][a-zA-Z0-9_]*
std::string LabelName(std::string name) {
  for (char& c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && (c < '0' || c > '9')) c = '_';
  }
  return name.empty() || (name[0] >= '0' && name[0] <= '9') ? "_" + name : name;
}

// The families in the order of their first samples.
class Families {
 public:
  // A value that is absent or not finite is left out. `unit`: the last word of the name, or empty.
  void Add(const std::string& name, std::string_view unit, std::string_view help,
           const Labels& labels, std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return;
    std::string text;
    for (const auto& [label, content] : labels) {
      text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", label, LabelValue(content));
    }
    // Two series with the same labels are an error of the whole file.
    const int seen = seen_[name + "{" + text]++;
    if (seen > 0) text += fmt::format(",repeat=\"{}\"", seen + 1);
    Of(name, unit, help) += fmt::format("{}{{{}}} {}\n", name, text, *value);
  }

  std::string Text() const {
    std::string text;
    for (const auto& [name, samples] : families_) text += samples;
    return text + "# EOF\n";
  }

 private:
  std::string& Of(const std::string& name, std::string_view unit, std::string_view help) {
    for (auto& [known, samples] : families_) {
      if (known == name) return samples;
    }
    std::string head = fmt::format("# TYPE {} gauge\n", name);
    if (!unit.empty()) head += fmt::format("# UNIT {} {}\n", name, unit);
    head += fmt::format("# HELP {} {}\n", name, help);
    return families_.emplace_back(name, head).second;
  }

  std::vector<std::pair<std::string, std::string>> families_;
  std::map<std::string, int> seen_;
};

Labels With(Labels labels, const std::string& name, const std::string& value) {
  labels.emplace_back(name, value);
  return labels;
}

// The labels that a sample may have beside those of the run.
const std::set<std::string> kOwnLabels = {
    "ceiling", "ceiling_threads", "event",  "implementation", "isa",       "machine", "node", "op",
    "pass",    "regime",          "repeat", "stage",          "statistic", "status"};

// What identifies the run: the strings and numbers of the subject, on every sample, since a folder
// may have the files of several runs. The regime is the record's. Every label has another name.
Labels LabelsOfRun(const Report& report) {
  Labels labels;
  std::set<std::string> used = kOwnLabels;
  for (const auto& [key, value] : report.subject) {
    const Json& json = value.json();
    if (key == "regime" || json.is_structured() || json.is_null()) continue;
    std::string name = LabelName(key);
    while (!used.insert(name).second) name += '_';
    labels.emplace_back(name, json.is_string() ? json.get<std::string>() : json.dump());
  }
  return labels;
}

void AddStatus(const std::string& prefix, const Record& record, const Labels& labels,
               Families& families) {
  for (const Status status :
       {Status::kOk, Status::kDegraded, Status::kInvalid, Status::kSkipped, Status::kFailed}) {
    families.Add(prefix + "_status", "",
                 "1 for the status of the figures, 0 for the other states; only OK is undisturbed.",
                 With(labels, "status", std::string(NameOf(status))), record.status == status);
  }
}

void AddTime(const std::string& prefix, const Record& record, const Labels& labels,
             Families& families) {
  const auto seconds = ExportedTime(record);
  if (!seconds) return;
  const auto add = [&](const char* statistic, double value) {
    families.Add(prefix + "_seconds", "seconds",
                 "Time per step: minimum, median and 90th percentile of the timed steps.",
                 With(labels, "statistic", statistic), value);
  };
  add("min", seconds->min);
  add("median", seconds->median);
  add("p90", seconds->p90);
  families.Add(prefix + "_timed_steps", "", "Number of steps that were timed.", labels,
               static_cast<double>(seconds->n));
}

void AddFigures(const std::string& prefix, const Record& record, const Labels& labels,
                Families& families) {
  AddTime(prefix, record, labels, families);
  if (!MayBeExported(record)) return;
  families.Add(prefix + "_flops", "", "Floating-point operations per step as defined.", labels,
               record.flops);
  families.Add(prefix + "_executed_flops", "",
               "Floating-point operations per step as executed, counted.", labels,
               record.flops_counted);
  families.Add(prefix + "_traffic_bytes", "bytes", "Compulsory traffic per step.", labels,
               record.bytes);
  if (!ExportedTime(record)) return;
  const auto gflops = record.Gflops();
  families.Add(prefix + "_flops_per_second", "",
               "Floating-point operations as defined over the median time.", labels,
               gflops ? std::optional(*gflops * 1e9) : std::nullopt);
  families.Add(prefix + "_peak_ratio", "ratio",
               "Share of the measured multiply-add ceiling that is reached.", labels,
               record.PeakFraction());
  if (!record.topdown) return;
  for (const auto& [node, value] : *record.topdown) {
    families.Add(prefix + "_topdown_ratio", "ratio", "Measured Top-Down nodes.",
                 With(labels, "node", node), value);
  }
}

// Only of the step: the events of every stage would be thousands of series.
void AddEvents(const Record& step, const Labels& labels, Families& families) {
  if (!MayBeExported(step)) return;
  for (const auto& [event, value] : step.events) {
    families.Add("topdnn_step_events", "", "Counted events per step.", With(labels, "event", event),
                 value);
  }
}

void AddStage(const Record& stage, Labels labels, Families& families) {
  labels.emplace_back("stage", stage.name);
  labels.emplace_back("pass", stage.pass);
  labels.emplace_back("regime", stage.regime);
  AddFigures("topdnn_stage", stage, labels, families);
  AddStatus("topdnn_stage", stage, labels, families);
  labels.emplace_back("op", stage.op);
  labels.emplace_back("implementation", stage.implementation);
  labels.emplace_back("isa", stage.isa);
  families.Add("topdnn_stage_info", "", "What the stage executed.", labels, 1);
}

// The name of a ceiling's family, by the unit in the machine's description.
struct CeilingFamily {
  std::string_view unit;
  std::string_view name;
  std::string_view base;  // the unit in OpenMetrics
};
constexpr CeilingFamily kCeilingFamilies[] = {
    {"FLOP/s", "topdnn_ceiling_flops_per_second", ""},
    {"OP/s", "topdnn_ceiling_operations_per_second", ""},
    {"B/s", "topdnn_ceiling_bytes_per_second", "bytes_per_second"},
    {"s", "topdnn_ceiling_latency_seconds", "seconds"}};

void AddCeiling(const Json& ceiling, const Labels& run, Families& families) {
  const Json value = ceiling.value("value", Json());
  const std::string status = MemberText(ceiling, "status");
  const bool holds = status == NameOf(Status::kOk) || status == NameOf(Status::kDegraded);
  if (!holds || !value.is_number()) return;
  Labels labels = With(run, "ceiling", MemberText(ceiling, "name"));
  labels.emplace_back("ceiling_threads", ceiling.value("threads", Json()).dump());
  labels.emplace_back("status", status);
  for (const CeilingFamily& family : kCeilingFamilies) {
    if (MemberText(ceiling, "unit") != family.unit) continue;
    families.Add(std::string(family.name), family.base, "Best rate that this machine reached.",
                 labels, value.get<double>());
  }
}

std::string OpenMetricsText(const Report& report) {
  Families families;
  const Labels run = LabelsOfRun(report);
  families.Add("topdnn_run_info", "", "What was measured, and where.",
               With(run, "machine", MachineText(report)), 1);
  families.Add("topdnn_run_partial", "", "1 if the run was interrupted: stages are missing.", run,
               report.partial);
  const Labels step = With(run, "regime", report.step.regime);
  AddFigures("topdnn_step", report.step, step, families);
  if (ExportedTime(report.step)) {
    families.Add("topdnn_step_images_per_second", "", "Images over the median time of a step.",
                 step, report.ItemsPerSecond());
  }
  AddEvents(report.step, step, families);
  AddStatus("topdnn_step", report.step, step, families);
  for (const Record& stage : report.stages) AddStage(stage, run, families);
  const Json& machine = report.machine.json();
  if (machine.is_object() && machine.contains("ceilings")) {
    for (const Json& ceiling : machine.at("ceilings")) AddCeiling(ceiling, run, families);
  }
  return families.Text();
}

const ReportRegistration kOpenMetrics(FileReport{
    .name = "openmetrics",
    .help = "write the figures to this file as OpenMetrics, for Prometheus' node_exporter",
    .text = OpenMetricsText});

}  // namespace

}  // namespace topdnn
