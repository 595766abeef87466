#include "harness/report/exports/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "harness/report/registry.h"

namespace topdnn {

namespace {

std::string Number(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

// The names of the additional columns.
struct Columns {
  std::set<std::string> events;
  std::set<std::string> topdown;
  bool trees = false;
};

Columns ColumnsOf(const Report& report) {
  Columns columns;
  for (const Record& stage : report.stages) {
    for (const auto& [name, value] : stage.events) columns.events.insert(name);
    columns.trees = columns.trees || stage.tree.has_value();
    if (!stage.topdown) continue;
    for (const auto& [name, value] : *stage.topdown) columns.topdown.insert(name);
  }
  return columns;
}

std::string Joined(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    line += CsvField(field);
  }
  return line + "\n";
}

std::string Head(const Columns& columns) {
  std::vector<std::string> fields = {"name",           "op",
                                     "pass",           "regime",
                                     "implementation", "isa",
                                     "status",         "reason",
                                     "seconds_median", "seconds_min",
                                     "seconds_p90",    "n",
                                     "flops",          "flops_counted",
                                     "bytes",          "gflops",
                                     "peak_fraction",  "running_fraction"};
  for (const std::string& name : columns.events) fields.push_back("event:" + name);
  for (const std::string& name : columns.topdown) fields.push_back("topdown:" + name);
  if (columns.trees) fields.emplace_back("bound_by");
  for (std::size_t i = 0; columns.trees && i < kTreeNodes; ++i) {
    const std::string_view node = NameOf(static_cast<TreeNode>(i));
    for (const char* end : {"low", "high"}) fields.push_back(fmt::format("tree:{}:{}", node, end));
  }
  return Joined(fields);
}

void AddTree(const Record& stage, std::vector<std::string>& fields) {
  fields.push_back(stage.bound_by ? TextOf(*stage.bound_by) : "");
  for (std::size_t i = 0; i < kTreeNodes; ++i) {
    const auto share = stage.tree ? (*stage.tree)[static_cast<TreeNode>(i)] : std::nullopt;
    fields.push_back(share ? Number(share->low) : "");
    fields.push_back(share ? Number(share->high) : "");
  }
}

std::string Row(const Record& stage, const Columns& columns) {
  const bool timed = stage.status != Status::kFailed && stage.seconds;
  const Summary* const seconds = timed ? &*stage.seconds : nullptr;
  std::vector<std::string> fields = {stage.name,
                                     stage.op,
                                     stage.pass,
                                     stage.regime,
                                     stage.implementation,
                                     stage.isa,
                                     std::string(NameOf(stage.status)),
                                     stage.reason,
                                     seconds != nullptr ? Number(seconds->median) : "",
                                     seconds != nullptr ? Number(seconds->min) : "",
                                     seconds != nullptr ? Number(seconds->p90) : "",
                                     seconds != nullptr ? std::to_string(seconds->n) : "",
                                     Number(stage.flops),
                                     Number(stage.flops_counted),
                                     Number(stage.bytes),
                                     Number(stage.Gflops()),
                                     Number(stage.PeakFraction()),
                                     Number(stage.running_fraction)};
  for (const std::string& name : columns.events) {
    fields.push_back(Number(stage.Event(name)));
  }
  for (const std::string& name : columns.topdown) {
    std::optional<double> value;
    if (stage.topdown && stage.topdown->count(name) != 0) value = stage.topdown->at(name);
    fields.push_back(Number(value));
  }
  if (columns.trees) AddTree(stage, fields);
  return Joined(fields);
}

}  // namespace

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string CsvText(const Report& report) {
  const Columns columns = ColumnsOf(report);
  std::string text = Head(columns);
  for (const Record& stage : report.stages) text += Row(stage, columns);
  return text;
}

namespace {

const ReportRegistration kCsv(FileReport{
    .name = "csv", .help = "write one row per stage to this file as CSV", .text = CsvText});

}  // namespace

}  // namespace topdnn
