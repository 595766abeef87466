#include "harness/report/evolution.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "harness/report/json.h"
#include "harness/report/registry.h"
#include "harness/results/groups.h"
#include "harness/results/stage_record.h"
#include "harness/statistics/summary.h"
#include "harness/text/table.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

Json NumbersJson(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(JsonNumber(value));
  return json;
}

// There are counts of at most some tens of iterations, so all are kept.
Json EventsJson(const StageSamples& samples, const std::vector<std::string>& events) {
  Json json = Json::object();
  for (std::size_t e = 0; e < events.size(); ++e) {
    Json values = Json::array();
    for (std::size_t at = e; at < samples.counts.size(); at += events.size()) {
      values.push_back(JsonNumber(samples.counts[at].value));
    }
    json[events[e]] = std::move(values);
  }
  return json;
}

Json StageJson(const StageSamples& samples, const std::vector<std::string>& events,
               std::size_t most_points) {
  const SeriesPoints seconds = PointsOf(samples.seconds, most_points);
  const SeriesPoints warmup = PointsOf(samples.warmup_seconds, most_points);
  return {{"name", samples.name},
          {"warmup_seconds", NumbersJson(warmup.means)},
          {"warmup_values_per_point", warmup.per_point},
          {"seconds", NumbersJson(seconds.means)},
          {"values_per_point", seconds.per_point},
          {"events", EventsJson(samples, events)}};
}

using Series = std::vector<double> StageSamples::*;

// The sum of a group's stages in each iteration.
std::vector<double> SumOf(const SequenceSamples& samples, std::span<const std::string> groups,
                          const std::string& group, Series series) {
  return SumsPerIteration(
      samples.stages, [&](std::size_t stage) { return groups[stage] == group; }, series,
      (samples.step.*series).size());
}

std::optional<double> MeanOfGroup(const SequenceSamples& samples,
                                  std::span<const std::string> groups, const std::string& group,
                                  std::size_t event) {
  std::optional<double> sum = 0.0;
  for (std::size_t s = 0; s < samples.stages.size(); ++s) {
    if (groups[s] != group) continue;
    const EventCount mean = MeanOfEvent(samples.stages[s], samples.events, event);
    sum = sum && mean.value ? std::optional(*sum + *mean.value) : std::nullopt;
  }
  return sum;
}

}  // namespace

SeriesPoints PointsOf(std::span<const double> values, std::size_t most) {
  const std::size_t stride = std::max<std::size_t>(1, (values.size() + most - 1) / most);
  SeriesPoints points{{}, static_cast<std::int64_t>(stride)};
  for (std::size_t at = 0; at < values.size(); at += stride) {
    const auto merged = values.subspan(at, std::min(stride, values.size() - at));
    points.means.push_back(std::accumulate(merged.begin(), merged.end(), 0.0) /
                           static_cast<double>(merged.size()));
  }
  return points;
}

std::vector<Phase> PhasesOf(const SequenceSamples& samples, std::span<const std::string> groups) {
  if (groups.size() != samples.stages.size()) {
    throw std::invalid_argument("phases need a group for each stage");
  }
  std::vector<std::string> order;
  for (const std::string& group : groups) {
    if (std::find(order.begin(), order.end(), group) == order.end()) order.push_back(group);
  }
  std::vector<Phase> phases;
  for (const auto& [name, series] :
       {std::pair<std::string, Series>{"warm-up", &StageSamples::warmup_seconds},
        std::pair<std::string, Series>{"steady", &StageSamples::seconds}}) {
    const std::vector<double>& steps = samples.step.*series;
    if (steps.empty()) continue;
    const double step = Median(steps);
    for (const std::string& group : order) {
      Phase phase{.phase = name,
                  .group = group,
                  .iterations = static_cast<std::int64_t>(steps.size()),
                  .seconds = Median(SumOf(samples, groups, group, series)),
                  .share = 0,
                  .events = {}};
      phase.share = step > 0 ? phase.seconds / step : 0;
      for (std::size_t e = 0; name == "steady" && e < samples.events.size(); ++e) {
        phase.events[samples.events[e]] = MeanOfGroup(samples, groups, group, e);
      }
      phases.push_back(std::move(phase));
    }
  }
  return phases;
}

std::string PhasesText(const Json& evolution, const Style& style) {
  if (evolution.is_null()) return "";
  Table table({{.name = "phase"},
               {.name = "group"},
               {.name = "iterations", .kind = Table::Kind::kFigure, .decimals = 0},
               {.name = "time", .kind = Table::Kind::kTime},
               {.name = "of the step", .kind = Table::Kind::kPercent}});
  const auto number = [](const Json& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  };
  for (const Json& phase : evolution.at("phases")) {
    table.Add({phase.at("phase").get<std::string>(), phase.at("group").get<std::string>(),
               number(phase.at("iterations")), number(phase.at("seconds")),
               number(phase.at("share"))});
  }
  return "\n" + table.Text(style);
}

Json EvolutionJson(const SequenceSamples& samples, const std::vector<Phase>& phases,
                   std::size_t most_points) {
  Json json = {{"phases", Json::array()}, {"stages", Json::array()}};
  for (const Phase& phase : phases) {
    Json events = Json::object();
    for (const auto& [name, value] : phase.events) events[name] = JsonNumber(value);
    json["phases"].push_back({{"phase", phase.phase},
                              {"group", phase.group},
                              {"iterations", phase.iterations},
                              {"seconds", JsonNumber(phase.seconds)},
                              {"share", JsonNumber(phase.share)},
                              {"events", std::move(events)}});
  }
  for (const StageSamples& stage : samples.stages) {
    json["stages"].push_back(StageJson(stage, samples.events, most_points));
  }
  json["stages"].push_back(StageJson(samples.step, samples.events, most_points));
  return json;
}

namespace {

const ReportRegistration kSeries(TableReport{
    .name = "series",
    .help = "phases (warm-up and steady; forward, backward, update), and in the JSON each stage's "
            "series over the iterations; in the trace every iteration",
    .place = 6,
    .shown = TableReport::Shown::kOnRequest,
    .text = [](const Report& report, const Style& style, const ConsoleOptions&) {
      return PhasesText(report.evolution.json(), style);
    }});

}  // namespace

}  // namespace topdnn
