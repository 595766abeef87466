#include "harness/report/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/report/hot_json.h"
#include "harness/report/registry.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// The time that may be published.
std::optional<Summary> TimeOf(const Record& record) {
  return record.status == Status::kFailed ? std::nullopt : record.seconds;
}

// The summary, how many samples it leaves out and why, the interval of the median, and the times
// that it summarises; "samples_of" if these were thinned.
Json SampledSecondsJson(const Record& record) {
  Json json = SecondsJson(TimeOf(record));
  if (json.is_null()) return json;
  std::int64_t left_out = 0;
  for (const auto& [reason, samples] : record.left_out) left_out += samples;
  json["left_out"] = left_out;
  if (left_out > 0) json["left_out_reasons"] = record.left_out;
  json["ci95"] = IntervalJson(record.seconds_interval);
  if (record.samples.empty()) return json;
  Json& samples = json["samples"] = Json::array();
  for (const double sample : record.samples) samples.push_back(JsonNumber(sample));
  const auto listed = static_cast<std::int64_t>(record.samples.size());
  if (record.seconds->n > listed) json["samples_of"] = record.seconds->n;
  return json;
}

// The probes around the measurement, as shares of the best known speeds, and the change of the
// clock.
Json SpeedsJson(const Speeds& speeds) {
  return {{"clock_change", JsonNumber(speeds.clock_change)},
          {"arithmetic", JsonNumber(speeds.arithmetic)},
          {"memory", JsonNumber(speeds.memory)}};
}

template <class Values>
Json NumbersJson(const Values& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = JsonNumber(value);
  return json;
}

// KEY, KEY_basis and KEY_reason: the intervals of the nodes, the basis of each, and the reason if
// there are none.
void AddBounds(const std::string& key, const std::optional<TopdownBounds>& bounds,
               const std::string& reason, Json& json) {
  json[key] = nullptr;
  json[key + "_basis"] = nullptr;
  json[key + "_reason"] = TextOrNull(reason);
  if (!bounds) return;
  for (const auto& [name, bound] : *bounds) {
    json[key][name] = {JsonNumber(bound.low), JsonNumber(bound.high)};
    json[key + "_basis"][name] = bound.basis;
  }
}

// tree: {"Retiring": {"low", "high", "provenance"} or null, ...} or null; bound_by: {"what",
// "share"} or null.
void AddTree(const std::optional<TopdownTree>& tree, const std::optional<BoundBy>& bound_by,
             Json& json) {
  json["tree"] = nullptr;
  for (std::size_t i = 0; tree && i < kTreeNodes; ++i) {
    const auto node = static_cast<TreeNode>(i);
    const std::optional<NodeShare>& share = (*tree)[node];
    Json& written = json["tree"][NameOf(node)] = nullptr;
    if (!share) continue;
    written = {{"low", JsonNumber(share->low)},
               {"high", JsonNumber(share->high)},
               {"provenance", NameOf(share->provenance)}};
  }
  json["bound_by"] = nullptr;
  if (!bound_by) return;
  json["bound_by"] = {{"what", bound_by->what},
                      {"share", JsonNumber(bound_by->share)},
                      {"text", TextOf(*bound_by)}};
}

Json BillionsOf(std::optional<double> value) {
  return JsonNumber(value ? std::optional(*value * 1e-9) : std::nullopt);
}

Json ToJson(const DenormalsResult& result) {
  Json json = {{"factor", IntervalJson(result.factor)},
               {"changed", JsonNumber(result.changed)},
               {"largest_change", JsonNumber(result.largest_change)},
               {"origin", TextOrNull(result.origin)},
               {"reason", TextOrNull(result.reason)},
               {"operands", Json::array()}};
  for (const OperandDenormals& operand : result.operands) {
    json["operands"].push_back({{"name", operand.name},
                                {"kind", operand.kind},
                                {"result", operand.result},
                                {"share", JsonNumber(operand.share)}});
  }
  return json;
}

Json ToJson(const PagesResult& result, bool is_step) {
  Json json = {{"bytes", JsonNumber(result.bytes)}};
  if (is_step) {
    json["tlb_reach"] = {{"small", JsonNumber(result.small_reach)},
                         {"huge", JsonNumber(result.huge_reach)}};
  }
  for (const HugePagesResult& of_kind : result.kinds) {
    Json& written = json[of_kind.kind];
    written = {{"factor", IntervalJson(of_kind.factor)}, {"reason", TextOrNull(of_kind.reason)}};
    if (is_step) written["proved_bytes"] = JsonNumber(of_kind.proved_bytes);
  }
  return json;
}

// The experiments on threads, bandwidth, data in L1, denormals and pages; no keys without them.
void AddExperiments(const Record& record, Json& json) {
  if (record.status == Status::kFailed) return;
  if (record.denormals_experiment) json["denormals"] = ToJson(*record.denormals_experiment);
  if (record.pages_experiment) {
    json["pages"] = ToJson(*record.pages_experiment, record.pass.empty());
  }
  if (record.width_experiment) {
    const WidthResult& result = *record.width_experiment;
    json["width_experiment"] = {{"threads", result.threads},
                                {"seconds", result.seconds},
                                {"speedup", IntervalJson(result.speedup)},
                                {"serial_share", IntervalJson(result.serial_share)},
                                {"doubt", TextOrNull(result.doubt)}};
  } else if (!record.width_reason.empty()) {
    json["width_experiment_reason"] = record.width_reason;
  }
  if (record.core_experiment || !record.core_reason.empty()) {
    json["core"] = nullptr;
    json["core_reason"] = TextOrNull(record.core_reason);
  }
  if (record.core_experiment) {
    const CoreResult& result = *record.core_experiment;
    json["core"] = {{"beyond_l1", IntervalJson(result.beyond_l1)},
                    {"core_seconds", IntervalJson(result.core_seconds)},
                    {"native_seconds", result.native_seconds},
                    {"translated_seconds", result.translated_seconds},
                    {"redirected_seconds", result.redirected_seconds},
                    {"delivery_seconds", JsonNumber(result.delivery_seconds)},
                    {"waiting_seconds", result.waiting_seconds}};
  }
  for (const BandwidthResult& result : record.bandwidth_experiment) {
    json["bandwidth_experiment"][result.resource] = {{"taken", JsonNumber(result.taken)},
                                                     {"slowdown", IntervalJson(result.slowdown)},
                                                     {"slope", IntervalJson(result.slope)}};
  }
  if (!record.bandwidth_reason.empty()) {
    json["bandwidth_experiment_reason"] = record.bandwidth_reason;
  }
}

// The members that a stage and the step have in common.
void AddFigures(const Record& record, Json& json) {
  json["flops"] = JsonNumber(record.flops);
  json["flops_counted"] = JsonNumber(record.flops_counted);
  json["bytes"] = JsonNumber(record.bytes);
  json["gflops"] = JsonNumber(record.Gflops());
  json["peak_fraction"] = JsonNumber(record.PeakFraction());
  json["ceiling"] = TextOrNull(record.ceiling_name);
  json["ceiling_gflops"] = BillionsOf(record.ceiling_flops_per_second);
  const bool held = !record.ceiling_name.empty();
  json["ceiling_status"] = held ? Json(NameOf(record.ceiling_verdict.status)) : Json(nullptr);
  json["ceiling_reason"] = TextOrNull(record.ceiling_verdict.reason);
  json["events"] = NumbersJson(record.events);
  json["dram_gb_per_second"] = BillionsOf(record.DramBytesPerSecond());
  json["running_fraction"] = JsonNumber(record.running_fraction);
  if (!record.thread_events.empty()) {
    json["thread_events"] = Json::object();
    for (const auto& [thread, events] : record.thread_events) {
      json["thread_events"][std::to_string(thread)] = NumbersJson(events);
    }
  }
  json["counts_reason"] = TextOrNull(record.counts_reason);
  json["topdown"] = record.topdown ? NumbersJson(*record.topdown) : Json(nullptr);
  const bool failed = record.status == Status::kFailed;
  AddBounds("topdown_bounds", failed ? std::nullopt : record.topdown_bounds, record.bounds_reason,
            json);
  AddBounds("topdown_experiment", failed ? std::nullopt : record.topdown_experiment,
            record.experiment_reason, json);
  if (Json& split = json["topdown_experiment"]; !split.is_null()) {
    for (const char* node : {"Retiring", "Core_Bound"}) split.emplace(node, nullptr);  // if absent
  }
  AddTree(failed ? std::nullopt : record.tree, failed ? std::nullopt : record.bound_by, json);
  json["tree_reason"] = TextOrNull(record.tree_reason);
  json["bound_by_reason"] = TextOrNull(record.bound_by_reason);
  AddExperiments(record, json);
  const bool drawn = record.roofline && record.status != Status::kFailed;
  json["roofline"] = drawn ? ToJson(*record.roofline) : Json(nullptr);
}

Json StepJson(const Report& report) {
  const Record& step = report.step;
  Json json = Json::object();
  json["status"] = NameOf(step.status);
  json["reason"] = TextOrNull(step.reason);
  json["seconds"] = SampledSecondsJson(step);
  json["speeds"] = SpeedsJson(step.speeds);
  json["images_per_second"] = JsonNumber(report.ItemsPerSecond());
  AddFigures(step, json);
  return json;
}

Json PartJson(const StepPart& part) {
  return {{"mean", JsonNumber(part.mean)},
          {"ci95", part.ci95 ? IntervalJson(*part.ci95) : Json(nullptr)},
          {"seconds", SecondsJson(part.seconds)}};
}

Json FedStepJson(const FedStep& fed, std::optional<double> items) {
  return {{"source", fed.source},
          {"prefetch", fed.prefetch},
          {"loaders", fed.loaders},
          {"augmentation", TextOrNull(fed.augmentation)},
          {"placement", fed.placement},
          {"step", PartJson(fed.step)},
          {"compute", PartJson(fed.compute)},
          {"input_wait", PartJson(fed.input_wait)},
          {"other", PartJson(fed.other)},
          {"images_per_second", JsonNumber(items ? std::optional(*items / fed.step.mean) : items)}};
}

Json GroupJson(const GroupSummary& group) {
  Json json = {{"name", group.name},
               {"stages", group.stages},
               {"seconds", SecondsJson(group.per_iteration)},
               {"sum_of_medians", JsonNumber(group.per_iteration ? std::nullopt : group.seconds)},
               {"gflops", JsonNumber(group.gflops)},
               {"peak_fraction", JsonNumber(group.peak_fraction)}};
  AddTree(group.tree, group.bound_by, json);
  return json;
}

}  // namespace

Json JsonNumber(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  // Counts are whole numbers, and are written as such if a double represents them exactly.
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (*value == std::floor(*value) && std::abs(*value) <= kExact) {
    return static_cast<std::int64_t>(*value);
  }
  return *value;
}

Json IntervalJson(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {JsonNumber(interval->low), JsonNumber(interval->high)};
}

Json SecondsJson(const std::optional<Summary>& seconds) {
  if (!seconds) return nullptr;
  return {{"median", JsonNumber(seconds->median)},
          {"min", JsonNumber(seconds->min)},
          {"p90", JsonNumber(seconds->p90)},
          {"n", seconds->n}};
}

Json ToJson(const Record& record) {
  Json json = Json::object();
  json["name"] = record.name;
  json["op"] = record.op;
  json["pass"] = record.pass;
  json["regime"] = record.regime;
  json["backend"] = TextOrNull(record.backend);
  json["implementation"] = record.implementation;
  json["framework_op"] = TextOrNull(record.framework_op);
  json["isa"] = TextOrNull(record.isa);
  json["status"] = NameOf(record.status);
  json["reason"] = TextOrNull(record.reason);
  json["seconds"] = SampledSecondsJson(record);
  json["speeds"] = SpeedsJson(record.speeds);
  if (!record.seconds_by_regime.empty()) {
    Json& regimes = json["seconds_by_regime"] = Json::object();
    for (const auto& [regime, seconds] : record.seconds_by_regime) {
      const bool failed = record.status == Status::kFailed;
      regimes[regime] = SecondsJson(failed ? std::nullopt : std::optional(seconds));
    }
  }
  AddFigures(record, json);
  if (record.hot && record.hot->listed()) json["hot"] = ToJson(*record.hot);
  return json;
}

Json ToJson(const Report& report) {
  Json json = Json::object();
  json["schema"] = 1;
  json["command"] = report.command;
  json["machine"] = report.machine.json();
  for (const auto& [name, value] : report.subject) json[name] = value.json();
  json["step"] = StepJson(report);
  if (report.fed_step) json["fed_step"] = FedStepJson(*report.fed_step, report.items_per_step);
  json["stages"] = Json::array();
  for (const Record& stage : report.stages) json["stages"].push_back(ToJson(stage));
  json["groups"] = Json::array();
  for (const GroupSummary& group : report.groups) json["groups"].push_back(GroupJson(group));
  json["remainder_seconds"] = JsonNumber(report.remainder_seconds);
  json["measuring_seconds"] = JsonNumber(report.measuring_seconds);
  json["partial"] = report.partial;
  if (!report.warnings.empty()) json["warnings"] = report.warnings;
  json["notes"] = Json::array();
  for (const Note& note : report.notes) json["notes"].push_back(note.text);
  if (!report.memory.json().is_null()) json["memory"] = report.memory.json();
  if (!report.evolution.json().is_null()) json["evolution"] = report.evolution.json();
  return json;
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string JsonText(const Json& json) {
  // (nlohmann writes numbers that are not finite as null, for example in machine and subject)
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

const ReportRegistration kJson(FileReport{
    .name = "json",
    .help = "write the whole report to this file as JSON",
    .text = [](const Report& report) { return JsonText(ToJson(report)); }});

}  // namespace

}  // namespace topdnn
