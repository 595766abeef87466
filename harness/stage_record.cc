// What samples say of a stage, as its record.

#include <fmt/format.h>

#include <algorithm>

#include "harness/counters/core_types.h"
#include "harness/counters/scaling.h"
#include "harness/measure.h"
#include "harness/statistics/summary.h"

namespace topdnn {

EventCount MeanCount(std::span<const EventCount> per_iteration) {
  EventCount mean = {.value = std::nullopt, .running_fraction = 0};
  double sum = 0;
  double fraction = 0;
  bool counted = false;
  for (const EventCount& count : per_iteration) {
    if (!count.value) continue;
    counted = true;
    sum += *count.value;
    fraction += count.running_fraction;
  }
  if (!counted) return mean;
  const double n = static_cast<double>(per_iteration.size());
  mean.value = sum / n;
  mean.running_fraction = fraction / n;
  return mean;
}

namespace {

constexpr double kMostSeconds = 1e9;  // 30 years: no iteration takes that

// Why an event was counted in no iteration, where its source gives a reason.
std::string ReasonOf(std::span<const EventCount> per_iteration) {
  for (const EventCount& count : per_iteration) {
    if (!count.reason.empty()) return count.reason;
  }
  return "";
}

}  // namespace

void ScaleCounts(const std::vector<std::string>& events, StageSamples& samples) {
  if (samples.scaled) return;
  samples.scaled = true;
  const auto scale = [&events](std::vector<EventCount>& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (!ElsewhereOf(events[i % events.size()])) counts[i].value = Scaled(counts[i]);
    }
  };
  if (events.empty()) return;
  scale(samples.counts);
  for (ThreadCounts& thread : samples.threads) scale(thread.counts);
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
    record.reason = "interrupted before its first whole iteration";
    return record;
  }
  record.seconds = Summarize(samples.seconds);
  if (!(record.seconds->median > 0 && record.seconds->median < kMostSeconds)) {
    record.status = Status::kInvalid;
    record.reason = fmt::format("a median time of {:g} s cannot be: measure or record it again",
                                record.seconds->median);
    record.seconds.reset();
    return record;
  }
  const auto degrade = [&record](const std::string& reason) {
    if (record.status == Status::kOk) record.status = Status::kDegraded;
    record.reason += (record.reason.empty() ? "" : "; ") + reason;
  };
  if (record.seconds->median < (kLeastEmptyRegions - 1) * samples.empty_seconds) {
    degrade(fmt::format("too short for the marks, of which an empty region takes {:.0f} ns",
                        samples.empty_seconds * 1e9));
  }
  std::vector<EventCount> series;
  std::string displaced;
  std::string elsewhere;
  for (std::size_t e = 0; e < events.size(); ++e) {
    series.clear();
    for (std::size_t at = e; at < samples.counts.size(); at += events.size()) {
      series.push_back(samples.counts[at]);
    }
    const EventCount mean = MeanCount(series);
    record.events[events[e]] = mean.value;
    if (!mean.value) {
      if (record.counts_reason.empty()) record.counts_reason = ReasonOf(series);
      continue;
    }
    if (const auto type = ElsewhereOf(events[e])) {
      if (*mean.value > 0 && elsewhere.empty()) {
        elsewhere = fmt::format(
            "threads were on {} cores for {:.0f} % of the time, which the other counts lack: keep "
            "them on cores of one type (taskset)",
            *type, 100 * mean.running_fraction);
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
  // (what was elsewhere was off its counter for that reason)
  if (!elsewhere.empty()) {
    degrade(elsewhere);
  } else if (!displaced.empty()) {
    degrade(displaced);
  }
  for (const ThreadCounts& thread : samples.threads) {
    auto& own = record.thread_events[thread.thread];
    for (std::size_t e = 0; e < events.size() && e < thread.counts.size(); ++e) {
      if (thread.counts[e].value) own[events[e]] = thread.counts[e].value;
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
