#include "bench/studies/corun/corun_topdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bench/profile/limits/stage_topdown.h"
#include "harness/results/record.h"
#include "harness/results/stage_record.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

constexpr const char* kInterrupted = "the run was interrupted before they were counted";

constexpr int kAttempts = 3;
constexpr double kLonger = 3;  // the windows of the next attempt

bool ReadsPmu(const CountsMessage& message) { return message.refusal.empty(); }

// Windows to samples. The times are those of the windows without readings.
SequenceSamples SamplesOf(const CountsMessage& message, std::span<const WindowSamples> windows,
                          const CorunMember& member, std::optional<Summary> CorunTimes::*time) {
  SequenceSamples samples;
  samples.events = message.events;
  samples.event_passes = message.event_passes;
  samples.stages.resize(member.stages.size());
  const auto describe = [time](const CorunTimes& times, StageSamples& series) {
    series.name = times.name;
    const std::optional<Summary>& seconds = times.*time;
    if (seconds) series.seconds = {seconds->median};
  };
  for (std::size_t s = 0; s < member.stages.size(); ++s) {
    describe(member.stages[s], samples.stages[s]);
  }
  describe(member.iteration, samples.step);
  for (const WindowSamples& window : windows) AppendWindowCounts(window.seconds, samples);
  return samples;
}

void Add(const std::string& reason, std::string& reasons) {
  if (reason.empty() || reasons.find(reason) != std::string::npos) return;
  reasons += (reasons.empty() ? "" : "; ") + reason;
}

// Whether reading the counters would be a large part of the time.
bool IsTooShort(const Record& record, const CountsMessage& message) {
  return record.seconds && record.seconds->median < kLeastReadings * message.reading_seconds;
}

// Why there is no Top-Down, or what is doubtful about it.
std::string ReasonOf(const Record& record, const CountsMessage& message,
                     const CorunCounting& counting) {
  if (!record.seconds) return record.reason;
  if (IsTooShort(record, message)) {
    return fmt::format("too short: a reading of the counters takes {}",
                       TimeText(message.reading_seconds, false));
  }
  if (!record.running_fraction) {
    return record.counts_reason.empty() ? "nothing was counted: set a longer --window"
                                        : record.counts_reason;
  }
  if (counting.table == nullptr) return "this CPU has no Top-Down table";
  if (!record.topdown) return "too few of its events were counted";
  return record.status == Status::kOk ? "" : record.reason;
}

// The counts of one condition for the iteration and the stages.
void AddCondition(const CountsMessage& message, const SequenceSamples& samples,
                  const CorunCounting& counting, PmuCounts CorunCounts::*condition,
                  CorunMember& member) {
  Report report;
  report.step = RecordOf(samples.step, samples.events, {}, "");
  for (const StageSamples& stage : samples.stages) {
    report.stages.push_back(RecordOf(stage, samples.events, {}, ""));
  }
  if (counting.table != nullptr) AddTopdown(*counting.table, counting.smt, samples, report);
  const auto add = [&](Record& record, CorunCounts& counts) {
    Add(ReasonOf(record, message, counting), counts.topdown_reason);
    if (IsTooShort(record, message)) return;
    PmuCounts& read = counts.*condition;
    read.events = std::move(record.events);
    read.running_fraction = record.running_fraction;
    read.topdown = std::move(record.topdown);
  };
  add(report.step, member.iteration.counts);
  for (std::size_t s = 0; s < report.stages.size(); ++s) {
    add(report.stages[s], member.stages[s].counts);
  }
}

// Enough for the passes of each network.
double CountedWindowOf(const Group& group, const std::vector<CountsMessage>& messages,
                       double window_seconds) {
  constexpr double kIterationsOfPass = 2;  // one is counted
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const double iterations = 3 + kIterationsOfPass * static_cast<double>(messages[i].passes());
    window_seconds = std::max(window_seconds, iterations * group.iteration_seconds(i));
  }
  return window_seconds;
}

// Whether each member that reads the PMU has counts of both conditions.
bool AllRead(const GroupCounts& counts) {
  const auto any = [](const std::vector<WindowSamples>& windows) {
    return std::any_of(windows.begin(), windows.end(),
                       [](const WindowSamples& window) { return !window.seconds.empty(); });
  };
  for (std::size_t i = 0; i < counts.messages.size(); ++i) {
    if (!ReadsPmu(counts.messages[i])) continue;
    if (!any(counts.windows.solo[i]) || !any(counts.windows.shared[i])) return false;
  }
  return true;
}

void SetExact(const CountsMessage& message, CorunMember& member) {
  member.iteration.counts = message.step;
  for (std::size_t s = 0; s < member.stages.size(); ++s) {
    if (s < message.stages.size()) {
      member.stages[s].counts = message.stages[s];
    } else {
      member.stages[s].counts.reason = message.step.reason;
    }
  }
}

}  // namespace

GroupCounts NoCounts(std::size_t members) {
  CountsMessage message;
  message.step.reason = message.refusal = kInterrupted;
  const std::vector<std::vector<WindowSamples>> none(members);
  return {.messages = std::vector<CountsMessage>(members, message),
          .windows = {.solo = none, .shared = none}};
}

GroupCounts CountGroup(Group& group, const std::vector<std::size_t>& first,
                       const SharingRoundOptions& options) {
  GroupCounts counts = NoCounts(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    counts.messages[i] = ParseCountsMessage(group.message(i));
    counts.messages[i].step = counts.messages[first[i]].step;
    counts.messages[i].stages = counts.messages[first[i]].stages;
  }
  if (std::none_of(counts.messages.begin(), counts.messages.end(), ReadsPmu)) return counts;
  SharingRoundOptions longer = options;
  longer.window_seconds = CountedWindowOf(group, counts.messages, options.window_seconds);
  // Iterations beside others may take too long for a window, for example on a shared CPU.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    counts.windows = RunSharingRounds(group, longer, {}, {.setting = kCountedWindow});
    if (counts.windows.cancelled || AllRead(counts)) break;
    longer.window_seconds *= kLonger;
  }
  if (!counts.windows.shared.front().empty()) return counts;
  for (CountsMessage& message : counts.messages) {
    if (message.refusal.empty()) message.refusal = kInterrupted;
  }
  return counts;
}

void AddCounts(const CountsMessage& message, std::span<const WindowSamples> solo,
               std::span<const WindowSamples> shared, const CorunCounting& counting,
               CorunMember& member) {
  SetExact(message, member);
  if (!ReadsPmu(message)) {
    member.iteration.counts.topdown_reason = message.refusal;
    for (CorunTimes& stage : member.stages) stage.counts.topdown_reason = message.refusal;
    return;
  }
  AddCondition(message, SamplesOf(message, solo, member, &CorunTimes::solo), counting,
               &CorunCounts::solo, member);
  AddCondition(message, SamplesOf(message, shared, member, &CorunTimes::shared), counting,
               &CorunCounts::shared, member);
}

}  // namespace topdnn
