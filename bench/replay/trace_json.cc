#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "bench/benchdnn/benchdnn_line.h"
#include "bench/command_line/command.h"
#include "bench/machine/libraries.h"
#include "bench/replay/trace_report.h"
#include "harness/machine/machine.h"
#include "harness/report/json.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// The part after "attr-post-ops:"; empty if there is none.
std::string PostOpsText(const TraceRow& row) {
  constexpr std::string_view kPostOps = "attr-post-ops:";
  const std::size_t at = row.attributes.find(kPostOps);
  if (at == std::string::npos) return {};
  const std::string rest = row.attributes.substr(at + kPostOps.size());
  return rest.substr(0, rest.find(' '));
}

// One execution in the framework.
Json FrameworkSeconds(const TraceRow& row) {
  const std::vector<double> samples(row.samples.begin(), row.samples.end());
  if (samples.empty()) return nullptr;
  return SecondsJson(Summarize(samples));
}

// One execution here, with its times in order for `compare`.
Json RegimeSeconds(const std::optional<Record>& record) {
  if (!record) return nullptr;
  Json json = SecondsJson(record->seconds);
  if (json.is_null()) return json;
  Json& samples = json["samples"] = Json::array();
  for (const double sample : record->samples) samples.push_back(JsonNumber(sample));
  return json;
}

// Of the hot runs, as in the JSON of a profile's stage.
constexpr std::array kFigures = {"flops",
                                 "flops_counted",
                                 "counts_reason",
                                 "bytes",
                                 "gflops",
                                 "peak_fraction",
                                 "ceiling",
                                 "events",
                                 "running_fraction",
                                 "topdown",
                                 "topdown_bounds",
                                 "topdown_bounds_basis",
                                 "topdown_bounds_reason",
                                 "roofline"};

Json RowJson(const MeasuredRow& measured, double framework_seconds) {
  const TraceRow& row = measured.row;
  const std::optional<Pass> pass = PassOfPropKind(row.prop_kind);
  const bool searched = measured.BestSeconds().has_value();
  Json json = {
      {"primitive", row.primitive},
      {"pass", pass ? Json(NameOf(*pass)) : Json(nullptr)},
      {"prop_kind", row.prop_kind},
      {"problem", row.problem},
      {"auxiliary", TextOrNull(row.auxiliary)},
      {"types", TypesText(row)},
      {"layouts", LayoutsText(row)},
      {"post_ops", TextOrNull(PostOpsText(row))},
      {"attributes", TextOrNull(row.attributes)},
      {"engine", row.engine},
      {"framework_implementation", row.implementation},
      {"count", row.count},
      {"framework_seconds", JsonNumber(row.seconds)},
      {"share",
       framework_seconds > 0 ? JsonNumber(row.seconds / framework_seconds) : Json(nullptr)},
      {"measured_seconds", JsonNumber(measured.ColdSeconds())},
      {"hot_seconds", JsonNumber(measured.HotSeconds())},
      {"reason",
       measured.hot && !measured.ByReferenceLoops() ? Json(nullptr) : TextOrNull(measured.reason)},
      {"best_seconds", JsonNumber(measured.BestSeconds())},
      {"best", searched ? Json(measured.best.name) : Json(nullptr)},
      {"best_reason", measured.hot ? TextOrNull(measured.best.reason) : Json(nullptr)},
      {"execution",
       {{"framework", FrameworkSeconds(row)},
        {"cold", RegimeSeconds(measured.cold)},
        {"hot", RegimeSeconds(measured.hot)}}},
  };
  json["live_seconds"] = nullptr;  // of `trace --live`, as the counters of the program
  json["counters"] = nullptr;
  json["repro"] = TextOrNull(BenchdnnLineOf(row).text);
  json["topdnn"] = nullptr;
  if (measured.problem) {
    json["topdnn"] =
        fmt::format("{}/{}", measured.problem->op->kind(), measured.problem->op->Problem());
  }
  if (measured.hot) {
    const Record& record = *measured.hot;
    const bool cold_is_worse = measured.cold->status > record.status;
    json["implementation"] = record.implementation;
    json["own_loops"] = measured.ByOwnLoops();
    json["reference_loops"] = measured.ByReferenceLoops();
    json["status"] = NameOf(cold_is_worse ? measured.cold->status : record.status);
    json["status_reason"] = TextOrNull(cold_is_worse ? measured.cold->reason : record.reason);
    const Json figures = ToJson(record);
    for (const char* key : kFigures) json[key] = figures.at(key);
  } else {
    json["status"] = measured.failed ? "FAILED" : "SKIPPED";
  }
  return json;
}

}  // namespace

nlohmann::ordered_json TraceJson(const MeasuredTrace& measured) {
  const Trace& trace = measured.trace;
  Json machine = ToJson(DescribeMachine());
  machine["libraries"] = LibraryVersions();
  Json rows = Json::array();
  for (const MeasuredRow& row : measured.rows) {
    rows.push_back(RowJson(row, measured.framework_seconds));
  }
  std::int64_t executions = trace.unfolded;
  for (const MeasuredRow& row : measured.rows) executions += row.row.count;
  return {
      {"schema", 1},
      {"command", CommandLine()},
      {"machine", machine},
      {"dialect", trace.dialect},
      {"library", TextOrNull(trace.library)},
      {"isa", TextOrNull(trace.isa)},
      {"framework_threads", trace.threads ? Json(*trace.threads) : Json(nullptr)},
      {"threads", measured.threads},
      {"lines", trace.lines},
      {"line_counts",
       {{"text", trace.text_lines},
        {"graph", trace.graph_lines},
        {"other_events", trace.other_lines},
        {"damaged", trace.damaged_lines},
        {"interleaved", trace.interleaved_lines},
        {"too_long", trace.long_lines}}},
      {"primitives", executions},
      {"created", {{"count", trace.created}, {"seconds", JsonNumber(trace.creation_seconds)}}},
      {"not_folded", {{"count", trace.unfolded}, {"seconds", JsonNumber(trace.unfolded_seconds)}}},
      {"framework_seconds", JsonNumber(measured.framework_seconds)},
      {"covered", JsonNumber(measured.Covered())},
      {"median_ratio",
       {{"cold", JsonNumber(measured.MedianColdRatio())},
        {"hot", JsonNumber(measured.MedianHotRatio())}}},
      {"reorder_share", JsonNumber(measured.ReorderShare())},
      {"between_seconds", JsonNumber(trace.between_seconds)},
      {"between_reason", TextOrNull(trace.between_reason)},
      {"saved_seconds", JsonNumber(measured.SavedSeconds())},
      {"notes", measured.notes},
      {"rows", rows},
  };
}

}  // namespace topdnn
