#include "harness/scheduling/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/sharing/group_metrics.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

// From the first arrival to the last end.
std::optional<WidthSegment> SpanOf(const Schedule& schedule) {
  std::optional<WidthSegment> span;
  for (const JobRun& run : schedule.jobs) {
    if (!run.end) continue;
    if (!span) span = WidthSegment{run.arrival, *run.end, 0};
    span->end = std::max(span->end, *run.end);
  }
  if (!span) return std::nullopt;
  for (const JobRun& run : schedule.jobs) span->begin = std::min(span->begin, run.arrival);
  return span;
}

std::optional<double> Mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

char WidthSign(int width) {
  if (width < 10) return static_cast<char>('0' + width);
  return width < 36 ? static_cast<char>('a' + width - 10) : '+';
}

// What the job does for most of the time of [begin, end).
char SignOf(const JobRun& run, double begin, double end) {
  const auto common = [&](double from, double to) {
    return std::max(std::min(to, end) - std::max(from, begin), 0.0);
  };
  std::map<int, double> seconds;  // by width; 0: it waits
  seconds[0] = common(run.arrival, run.begin.value_or(run.end.value_or(end)));
  for (const WidthSegment& segment : run.segments) {
    seconds[segment.width] += common(segment.begin, segment.end);
  }
  const auto most = std::max_element(seconds.begin(), seconds.end(),
                                     [](const auto& a, auto& b) { return a.second < b.second; });
  if (most->second <= 0) return ' ';
  return most->first == 0 ? '.' : WidthSign(most->first);
}

}  // namespace

std::optional<double> WaitOf(const JobRun& run) {
  if (!run.begin) return std::nullopt;
  return *run.begin - run.arrival;
}

std::optional<double> ServiceOf(const JobRun& run) {
  if (!run.begin || !run.end) return std::nullopt;
  return *run.end - *run.begin;
}

std::optional<double> TurnaroundOf(const JobRun& run) {
  if (!run.end) return std::nullopt;
  return *run.end - run.arrival;
}

std::optional<double> SlowdownOf(const JobRun& run) {
  const auto turnaround = TurnaroundOf(run);
  if (!turnaround || !run.failure.empty() || run.alone.value_or(0) <= 0) return std::nullopt;
  return *turnaround / *run.alone;
}

std::string DisturbanceOf(const Schedule& schedule) {
  if (schedule.others.value_or(0) <= kMostOthers) return "";
  return fmt::format(
      "other programs, or the host of this virtual machine, had {:.0f} % of the CPUs' time: end "
      "them, and run it again",
      100 * *schedule.others);
}

ScheduleMetrics MetricsOf(const Schedule& schedule) {
  ScheduleMetrics metrics;
  std::vector<double> wait, service, turnaround, slowdown;
  std::vector<SharingTimes> progress;
  for (const JobRun& run : schedule.jobs) {
    if (!run.failure.empty()) ++metrics.failed;
    if (!run.failure.empty() || !run.begin || !run.end) continue;
    ++metrics.done;
    wait.push_back(*WaitOf(run));
    service.push_back(*ServiceOf(run));
    turnaround.push_back(*TurnaroundOf(run));
    if (!SlowdownOf(run)) continue;
    slowdown.push_back(*SlowdownOf(run));
    progress.push_back({.solo = *run.alone, .shared = *TurnaroundOf(run)});
  }
  metrics.wait = Mean(wait);
  metrics.service = Mean(service);
  metrics.turnaround = Mean(turnaround);
  metrics.mean_slowdown = Mean(slowdown);
  if (!slowdown.empty()) {
    metrics.max_slowdown = *std::max_element(slowdown.begin(), slowdown.end());
  }
  metrics.fairness = Fairness(progress);
  const auto span = SpanOf(schedule);
  if (!span || span->end <= span->begin) return metrics;
  metrics.makespan = span->end - span->begin;
  metrics.jobs_per_minute = 60 * static_cast<double>(metrics.done) / *metrics.makespan;
  if (schedule.cpus > 0) {
    metrics.cpu_use = schedule.cpu_seconds / (schedule.cpus * *metrics.makespan);
  }
  return metrics;
}

std::string TimelineText(const Schedule& schedule, std::span<const std::string> labels,
                         std::size_t most, std::size_t columns) {
  const auto span = SpanOf(schedule);
  if (!span) return "";
  most = std::min({most, schedule.jobs.size(), labels.size()});
  std::size_t label = 0;
  for (std::size_t i = 0; i < most; ++i) label = std::max(label, ColumnsOfText(labels[i]));
  label = std::min(label, columns / 2);
  const std::size_t cells = columns - label - 2;
  const double step = (span->end - span->begin) / static_cast<double>(cells);
  std::string text;
  for (std::size_t i = 0; i < most; ++i) {
    std::string row = PadRight(FirstColumns(labels[i], label), label) + "  ";
    for (std::size_t c = 0; c < cells; ++c) {
      const double begin = span->begin + step * static_cast<double>(c);
      row += SignOf(schedule.jobs[i], begin, begin + step);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace topdnn
