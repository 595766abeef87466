#include "bench/studies/malleable/malleable_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "harness/report/json.h"
#include "harness/statistics/interval.h"
#include "harness/statistics/summary.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> RateOf(std::span<const double> seconds, std::int64_t batch) {
  if (seconds.empty()) return std::nullopt;
  return static_cast<double>(batch) / Median(seconds);
}

std::vector<double> AllOf(const MalleableResult& result,
                          std::vector<double> SourceFigures::*figures) {
  std::vector<double> all;
  for (const SourceFigures& source : result.sources) {
    all.insert(all.end(), (source.*figures).begin(), (source.*figures).end());
  }
  return all;
}

// The cost of a change may be negative.
std::string SignedTime(std::optional<double> seconds, bool unicode) {
  if (!seconds || *seconds >= 0) return TimeText(seconds, unicode);
  return "-" + TimeText(-*seconds, unicode);
}

std::string IntervalText(std::span<const double> seconds, bool unicode) {
  const auto interval = MedianInterval(seconds);
  if (!interval) return "";
  return fmt::format("{} to {}", SignedTime(interval->low, unicode),
                     SignedTime(interval->high, unicode));
}

std::string SourceTable(const MalleableResult& result, const Style& style) {
  Table table({{.name = "asked by", .kind = Table::Kind::kWord},
               {.name = "changes", .kind = Table::Kind::kRight},
               {.name = "latency", .kind = Table::Kind::kRight},
               {.name = "p90", .kind = Table::Kind::kRight},
               {.name = "cost of a change", .kind = Table::Kind::kRight},
               {.name = "95 %", .kind = Table::Kind::kRight},
               {.name = "steps until steady", .kind = Table::Kind::kRight}});
  const auto text = [&](std::optional<double> seconds) {
    return SignedTime(seconds, style.unicode);
  };
  for (const SourceFigures& source : result.sources) {
    const auto latency = SummaryIfAny(source.latencies);
    table.Add({source.name, fmt::format("{}", source.changes), text(MedianIfAny(source.latencies)),
               text(latency ? std::optional(latency->p90) : std::nullopt),
               text(MedianIfAny(source.costs)), IntervalText(source.costs, style.unicode),
               source.steps_to_steady ? fmt::format("{}", *source.steps_to_steady)
                                      : std::string(kAbsentText)});
  }
  return table.Text(style);
}

std::string ThroughputText(const MalleableResult& result, std::int64_t batch, const Style& style) {
  std::string text;
  for (const FixedWidth& fixed : result.fixed) {
    text += fmt::format("width {}: {} images/s, step {}\n", fixed.threads,
                        FigureText(RateOf(fixed.seconds, batch)),
                        TimeText(MedianIfAny(fixed.seconds), style.unicode));
  }
  const ChangingWidth& changing = result.changing;
  if (changing.seconds > 0) {
    text += Wrap(
        fmt::format("changing width: {} images/s in {} steps with {} changes; the same stages at "
                    "fixed widths: {} images/s",
                    FigureText(static_cast<double>(changing.steps * batch) / changing.seconds),
                    changing.steps, changing.changes,
                    FigureText(static_cast<double>(changing.steps * batch) / changing.expected)),
        style.width, 2);
  }
  const auto& one = result.oversubscription;
  if (one && !one->ignored.empty() && !one->followed.empty()) {
    text += Wrap(fmt::format("on 1 CPU: {} images/s with {} threads, {} images/s when the width "
                             "follows the limit",
                             FigureText(RateOf(one->ignored, batch)), one->threads,
                             FigureText(RateOf(one->followed, batch))),
                 style.width, 2);
  }
  return text;
}

}  // namespace

std::string MalleableTable(const MalleableResult& result, std::int64_t batch, double bound,
                           const Style& style) {
  std::string text = SourceTable(result, style);
  text += "\n" + ThroughputText(result, batch, style);
  const ResultError& error = result.result;
  text += Wrap(fmt::format("{} of {} steps with {} changes: differs by {:.2g} from that at width "
                           "{} (width {} differs by {:.2g}; the bound is {:.2g})",
                           error.what, error.steps, error.changes, error.error,
                           result.fixed.empty() ? 0 : result.fixed.back().threads,
                           result.fixed.empty() ? 0 : result.fixed.front().threads,
                           error.between_widths, bound),
               style.width, 2);
  if (error.from_same_state) {
    text += fmt::format("loss after one step from the same state: differs by {:.2g}\n",
                        *error.from_same_state);
  }
  text += fmt::format("lost work: {} steps\n", result.lost_work);
  for (const std::string& remark : result.remarks) text += Wrap(OneLine(remark), style.width, 2);
  return text;
}

void AddMalleableFigures(const MalleableResult& result, std::int64_t batch, double bound,
                         Json& json) {
  const std::vector<double> latencies = AllOf(result, &SourceFigures::latencies);
  const std::vector<double> costs = AllOf(result, &SourceFigures::costs);
  std::int64_t changes = 0;
  for (const SourceFigures& source : result.sources) changes += source.changes;
  json["complete"] = result.complete;
  json["changes"] = changes;
  json["latency"] = SecondsJson(SummaryIfAny(latencies));
  json["cost"] = SecondsJson(SummaryIfAny(costs));
  json["cost_ci95"] = IntervalJson(MedianInterval(costs));
  json["sources"] = Json::array();
  for (const SourceFigures& source : result.sources) {
    json["sources"].push_back(
        {{"name", source.name},
         {"changes", source.changes},
         {"latency", SecondsJson(SummaryIfAny(source.latencies))},
         {"cost", SecondsJson(SummaryIfAny(source.costs))},
         {"cost_ci95", IntervalJson(MedianInterval(source.costs))},
         {"steps_to_steady",
          source.steps_to_steady ? Json(*source.steps_to_steady) : Json(nullptr)}});
  }
  json["fixed"] = Json::array();
  for (const FixedWidth& fixed : result.fixed) {
    json["fixed"].push_back({{"threads", fixed.threads},
                             {"images_per_second", JsonNumber(RateOf(fixed.seconds, batch))},
                             {"seconds", SecondsJson(SummaryIfAny(fixed.seconds))}});
  }
  const ChangingWidth& changing = result.changing;
  const auto images = static_cast<double>(changing.steps * batch);
  json["changing"] = {{"steps", changing.steps},
                      {"changes", changing.changes},
                      {"images_per_second", JsonNumber(images / changing.seconds)},
                      {"expected_images_per_second", JsonNumber(images / changing.expected)}};
  json["oversubscription"] = nullptr;
  if (const auto& one = result.oversubscription) {
    json["oversubscription"] = {
        {"cpus", 1},
        {"threads", one->threads},
        {"images_per_second", JsonNumber(RateOf(one->ignored, batch))},
        {"following_images_per_second", JsonNumber(RateOf(one->followed, batch))}};
  }
  const bool loss = result.result.what == "loss";
  json["loss_error"] = loss ? JsonNumber(result.result.error) : Json(nullptr);
  json["output_error"] = loss ? Json(nullptr) : JsonNumber(result.result.error);
  json["error_between_widths"] = JsonNumber(result.result.between_widths);
  json["error_bound"] = JsonNumber(bound);
  json["loss_error_from_same_state"] = JsonNumber(result.result.from_same_state);
  json["compared_steps"] = result.result.steps;
  json["compared_changes"] = result.result.changes;
  json["lost_work"] = result.lost_work;
  json["remarks"] = result.remarks;
}

}  // namespace topdnn
