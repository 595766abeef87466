#include "bench/studies/corun/corun_counts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/command_line/command.h"
#include "bench/command_line/nearest.h"
#include "harness/machine/cpu.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

Json CountsJson(const CorunCounts& counts) {
  Json json = {{"reason", counts.reason}, {"events", Json::object()}};
  for (const auto& [name, value] : counts.events) {
    json["events"][name] = value ? Json(*value) : Json();
  }
  if (counts.flops) json["flops"] = *counts.flops;
  return json;
}

CorunCounts CountsOf(const Json& json) {
  CorunCounts counts;
  counts.reason = json.at("reason").get<std::string>();
  for (const auto& [name, value] : json.at("events").items()) {
    counts.events[name] = value.is_null() ? std::nullopt : std::optional(value.get<double>());
  }
  if (json.contains("flops")) counts.flops = json.at("flops").get<double>();
  return counts;
}

// The series of an iteration: each stage, then the step.
std::vector<const StageSamples*> SeriesOf(const SequenceSamples& samples) {
  std::vector<const StageSamples*> series;
  for (const StageSamples& stage : samples.stages) series.push_back(&stage);
  series.push_back(&samples.step);
  return series;
}

}  // namespace

std::string WhyNot(const Availability& availability) {
  const std::string& remedy = availability.remedy;
  return remedy.empty() ? availability.reason : availability.reason + "; " + remedy;
}

CorunCounting CorunCounting::Here(const std::string& counters) {
  CheckName("source of --counters", counters, {"auto", "exact", "perf", "none"});
  CorunCounting counting{.exact = counters == "auto" || counters == "exact",
                         .table = TopdownTableOf(IdentifyCpu()),
                         .smt = SmtIsActive()};
  if (counters == "perf") {
    const Availability pmu = OpenPerf({}, PerfSetting::Here()).availability;
    if (!pmu.works) {
      throw NothingMeasured("--counters perf: nothing can be counted: " + WhyNot(pmu));
    }
  }
  if (counters == "auto" || counters == "perf") {
    counting.open_perf = [] { return OpenPerf({"topdown-l2"}, PerfSetting::Here()); };
  }
  return counting;
}

std::size_t CountsMessage::passes() const {
  std::size_t last = 0;
  for (const std::size_t pass : event_passes) last = std::max(last, pass);
  return events.empty() ? 0 : last + 1;
}

std::string FormatCountsMessage(const CountsMessage& message) {
  Json json = {
      {"step", CountsJson(message.step)},     {"stages", Json::array()},
      {"refusal", message.refusal},           {"events", message.events},
      {"event_passes", message.event_passes}, {"reading_seconds", message.reading_seconds}};
  for (const CorunCounts& stage : message.stages) json["stages"].push_back(CountsJson(stage));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

CountsMessage ParseCountsMessage(const std::string& text) {
  CountsMessage message;
  if (text.empty()) {
    message.step.reason = "only networks are counted";
    message.refusal = "not supported: " + message.step.reason;
    return message;
  }
  const Json json = Json::parse(text);
  message.step = CountsOf(json.at("step"));
  for (const Json& stage : json.at("stages")) message.stages.push_back(CountsOf(stage));
  message.refusal = json.at("refusal").get<std::string>();
  message.events = json.at("events").get<std::vector<std::string>>();
  message.event_passes = json.at("event_passes").get<std::vector<std::size_t>>();
  message.reading_seconds = json.at("reading_seconds").get<double>();
  return message;
}

std::vector<double> WindowCounts(const SequenceSamples& samples) {
  const std::size_t events = samples.events.size();
  const std::size_t iterations = events == 0 ? 0 : samples.step.counts.size() / events;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < iterations; ++i) {
    for (const StageSamples* series : SeriesOf(samples)) {
      for (std::size_t e = 0; e < events; ++e) {
        const EventCount& count = series->counts[i * events + e];
        numbers.push_back(count.value.value_or(std::numeric_limits<double>::quiet_NaN()));
        numbers.push_back(count.running_fraction);
      }
    }
  }
  return numbers;
}

void AppendWindowCounts(std::span<const double> numbers, SequenceSamples& samples) {
  const std::size_t events = samples.events.size();
  const std::size_t of_iteration = 2 * events * (samples.stages.size() + 1);
  if (of_iteration == 0 || numbers.size() % of_iteration != 0) return;
  for (std::size_t at = 0; at < numbers.size();) {
    for (std::size_t s = 0; s <= samples.stages.size(); ++s) {
      StageSamples& series = s < samples.stages.size() ? samples.stages[s] : samples.step;
      for (std::size_t e = 0; e < events; ++e, at += 2) {
        EventCount count = {.value = numbers[at], .running_fraction = numbers[at + 1]};
        if (std::isnan(numbers[at])) count.value.reset();
        series.counts.push_back(std::move(count));
      }
    }
  }
}

}  // namespace topdnn
