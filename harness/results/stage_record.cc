#include "harness/results/stage_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/counters/core_types.h"
#include "harness/statistics/counting.h"
#include "harness/statistics/interval.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

// The mean, scaled if requested.
std::optional<double> ValueOf(const EventCount& mean, const std::string& event, bool scaled) {
  return scaled && !ElsewhereOf(event) ? Scaled(mean) : mean.value;
}

constexpr double kMaxSeconds = 1e9;  // 30 years: longer than any iteration

// Why an event was counted in no iteration, if its source gives a reason.
std::string ReasonOf(const StageSamples& samples, std::size_t event, std::size_t events) {
  for (std::size_t at = event; at < samples.counts.size(); at += events) {
    if (!samples.counts[at].reason.empty()) return samples.counts[at].reason;
  }
  return "";
}

}  // namespace

void ScaleCounts(StageSamples& samples) { samples.scaled = true; }

EventCount MeanOfEvent(const StageSamples& samples, const std::vector<std::string>& events,
                       std::size_t event) {
  std::vector<EventCount> series;
  for (std::size_t at = event; at < samples.counts.size(); at += events.size()) {
    series.push_back(samples.counts[at]);
  }
  EventCount mean = MeanCount(series);
  mean.value = ValueOf(mean, events[event], samples.scaled);
  return mean;
}

Record RecordOf(const StageSamples& samples, const std::vector<std::string>& events,
                const Verdict& verdict, std::string_view regime) {
  Record record;
  record.name = samples.name;
  record.regime = regime;
  record.status = verdict.status;
  record.reason = verdict.reason;
  if (samples.seconds.empty()) {
    record.status = Status::kSkipped;
    record.reason = "interrupted before its first complete iteration";
    if (samples.left_out > 0) {
      record.status = Status::kInvalid;
      record.reason =
          fmt::format("the clock went backwards in each of {} iterations", samples.left_out);
    }
    return record;
  }
  const std::vector<double> seconds = UndisturbedSeconds(samples);
  record.seconds = Summarize(seconds);
  record.samples = ThinnedEvenly(seconds, kMostSamples);
  record.seconds_interval = MedianInterval(seconds);
  record.left_out = ReasonsOf(samples.selection);
  if (!(record.seconds->median < kMaxSeconds)) {
    record.status = Status::kInvalid;
    record.reason = fmt::format("a median time of {:g} s is impossible: measure or record it again",
                                record.seconds->median);
    record.seconds.reset();
    record.seconds_interval.reset();
    record.samples.clear();
    return record;
  }
  const auto degrade = [&record](const std::string& reason) {
    if (record.status == Status::kOk) record.status = Status::kDegraded;
    record.reason += (record.reason.empty() ? "" : "; ") + reason;
  };
  if (samples.left_out > 0) {
    degrade(fmt::format("the clock went backwards in {} of {} iterations, which are omitted",
                        samples.left_out,
                        samples.left_out + static_cast<std::int64_t>(samples.seconds.size())));
  }
  const std::string few = samples.composed.empty() ? WhyTooFew(samples.selection) : "";
  if (!few.empty()) degrade(few);
  if (record.seconds->median < (kMinEmptyRegions - 1) * samples.empty_seconds) {
    degrade(fmt::format("too short for the marks: an empty region takes {:.0f} ns",
                        samples.empty_seconds * 1e9));
  }
  std::string displaced;
  std::string elsewhere;
  for (std::size_t e = 0; e < events.size(); ++e) {
    const EventCount mean = MeanOfEvent(samples, events, e);
    record.events[events[e]] = mean.value;
    if (!mean.value) {
      if (record.counts_reason.empty()) record.counts_reason = ReasonOf(samples, e, events.size());
      continue;
    }
    if (const auto type = ElsewhereOf(events[e])) {
      if (*mean.value > 0 && elsewhere.empty()) {
        elsewhere = fmt::format(
            "threads were on {} cores for {:.0f} % of the time, and the other counts {}: keep the "
            "threads on cores of one type (taskset)",
            *type, 100 * mean.running_fraction,
            samples.scaled ? "are scaled as if all cores were alike" : "do not include it");
      }
      continue;
    }
    record.running_fraction =
        std::min(record.running_fraction.value_or(1.0), mean.running_fraction);
    if (mean.running_fraction < kTrustedRunningFraction && displaced.empty()) {
      displaced = fmt::format("{} was on a counter for {:.0f} % of the time and is {}scaled",
                              events[e], 100 * mean.running_fraction, samples.scaled ? "" : "not ");
    }
  }
  // A thread on another core type was off the counter for that reason.
  if (!elsewhere.empty()) {
    degrade(elsewhere);
  } else if (!displaced.empty()) {
    degrade(displaced);
  }
  for (const ThreadCounts& thread : samples.threads) {
    auto& own = record.thread_events[thread.thread];
    for (std::size_t e = 0; e < events.size() && e < thread.counts.size(); ++e) {
      const auto value = ValueOf(thread.counts[e], events[e], samples.scaled);
      if (value) own[events[e]] = value;
    }
  }
  return record;
}

void AddRunCounts(const StageSamples& samples, const std::vector<std::string>& run_events,
                  Record& record) {
  if (samples.run_counts.size() != run_events.size()) return;  // cancelled before
  for (std::size_t e = 0; e < run_events.size(); ++e) {
    const EventCount& count = samples.run_counts[e];
    record.events[run_events[e]] = count.value;
    if (run_events[e] == kFlopsEvent) record.flops_counted = count.value;
    if (record.counts_reason.empty()) record.counts_reason = count.reason;
  }
}

}  // namespace topdnn
