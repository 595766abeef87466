// A profile as Chrome trace events, which Perfetto and speedscope show on a time axis. Format:
// "Trace Event Format", Google, 2016: complete events ("X"), counters ("C") and metadata ("M"),
// with times in microseconds.
//
// A profile has no time stamps of one particular step. The step in the trace is made of the
// stages' medians, one after the other; "otherData" says so.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/report/console.h"
#include "harness/report/exports/exported.h"
#include "harness/report/grouped_names.h"
#include "harness/report/json.h"
#include "harness/report/opening.h"
#include "harness/report/registry.h"
#include "harness/results/groups.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kStepProcess = 1;
constexpr int kIterationsProcess = 2;
constexpr int kStepTrack = 1;  // the groups have the tracks after it

// Times are whole ticks of 1/1024 microsecond. These are exact in binary, so "ts" + "dur" is
// exactly the "ts" of the next event on the track. If it is larger by a rounding error, speedscope
// takes the events for nested ones.
constexpr double kTicksPerMicrosecond = 1024;

std::int64_t TicksOf(double seconds) { return std::llround(seconds * 1e6 * kTicksPerMicrosecond); }

double Microseconds(std::int64_t ticks) {
  return static_cast<double>(ticks) / kTicksPerMicrosecond;
}

Json Complete(const std::string& name, const std::string& category, int process, int track,
              std::int64_t start, std::int64_t end, Json arguments) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"ts", Microseconds(start)},
          {"dur", Microseconds(end - start)},
          {"pid", process},
          {"tid", track},
          {"args", std::move(arguments)}};
}

Json Metadata(const char* what, int process, int track, Json arguments) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", track}, {"args", arguments}};
}

// One track for each group of stages, in the order of their first stages.
class Tracks {
 public:
  explicit Tracks(const Report& report) {
    for (const Record& stage : report.stages) {
      const std::string group = GroupOfPass(stage.pass);
      if (std::find(groups_.begin(), groups_.end(), group) == groups_.end()) {
        groups_.push_back(group);
      }
    }
  }

  const std::vector<std::string>& groups() const { return groups_; }
  int Of(const std::string& group) const {
    const auto place = std::find(groups_.begin(), groups_.end(), group);
    return kStepTrack + 1 + static_cast<int>(place - groups_.begin());
  }
  // The names of a process and of its tracks.
  void AddNames(int process, const std::string& name, Json& events) const {
    events.push_back(Metadata("process_name", process, 0, {{"name", name}}));
    events.push_back(Metadata("process_sort_index", process, 0, {{"sort_index", process}}));
    for (int track = kStepTrack; track <= kStepTrack + static_cast<int>(groups_.size()); ++track) {
      const std::string label = track == kStepTrack ? "step" : groups_[track - kStepTrack - 1];
      events.push_back(Metadata("thread_name", process, track, {{"name", label}}));
      events.push_back(Metadata("thread_sort_index", process, track, {{"sort_index", track}}));
    }
  }

 private:
  std::vector<std::string> groups_;
};

// The figures of a record, under the keys of the JSON. Absent values and estimates are left out.
Json ArgumentsOf(const Record& record) {
  const Json whole = ToJson(record);
  Json arguments = Json::object();
  for (const char* key :
       {"op", "pass", "regime", "implementation", "isa", "status", "reason", "seconds", "flops",
        "flops_counted", "bytes", "gflops", "peak_fraction", "ceiling", "events", "topdown"}) {
    Json value = whole.at(key);
    if (value.is_object()) {
      for (auto member = value.begin(); member != value.end();) {
        member = member->is_null() ? value.erase(member) : std::next(member);
      }
    }
    const bool blank = value.is_string() && value.get_ref<const std::string&>().empty();
    if (!value.empty() && !blank) arguments[key] = std::move(value);  // (null is empty)
  }
  return arguments;
}

// The values of a record that become counters.
std::map<std::string, double> CountersOf(const Record& record, const Summary& seconds) {
  std::map<std::string, std::optional<double>> values;
  values["GFLOP/s"] = record.Gflops();
  if (record.bytes) values["GB/s"] = *record.bytes / seconds.median * 1e-9;
  for (const auto& [name, value] : record.events) values["event " + name] = value;
  if (record.topdown) {
    for (const auto& [name, value] : *record.topdown) values["Top-Down " + name] = value;
  }
  std::map<std::string, double> finite;
  for (const auto& [name, value] : values) {
    if (value && std::isfinite(*value)) finite[name] = *value;
  }
  return finite;
}

// A counter keeps its value until its next event. So that no stage gets the value of the stage
// before it, a counter without a value at a stage is set to 0 there.
class CounterTracks {
 public:
  void Set(std::int64_t at, const std::map<std::string, double>& values) {
    for (auto& [name, current] : current_) {
      if (!values.contains(name) && current != 0) Add(at, name, 0);
    }
    for (const auto& [name, value] : values) Add(at, name, value);
  }
  // Without the counters that are 0 at every stage.
  void MoveTo(Json& events) {
    for (auto& [name, own] : events_) {
      const bool zero = std::all_of(own.begin(), own.end(), [](const Json& event) {
        return event.at("args").at("value") == 0;
      });
      if (zero) continue;
      for (Json& event : own) events.push_back(std::move(event));
    }
  }

 private:
  void Add(std::int64_t at, const std::string& name, double value) {
    current_[name] = value;
    events_[name].push_back({{"name", name},
                             {"ph", "C"},
                             {"ts", Microseconds(at)},
                             {"pid", kStepProcess},
                             {"args", {{"value", JsonNumber(value)}}}});
  }

  std::map<std::string, double> current_;
  std::map<std::string, std::vector<Json>> events_;
};

// The step made of medians.
void AddStep(const Report& report, const Tracks& tracks, Json& events) {
  tracks.AddNames(kStepProcess, "one step, made of medians", events);
  if (const auto seconds = ExportedTime(report.step)) {
    events.push_back(Complete("step", "step", kStepProcess, kStepTrack, 0, TicksOf(seconds->median),
                              ArgumentsOf(report.step)));
  }
  CounterTracks counters;
  double time = 0;
  for (const Record& stage : report.stages) {
    const auto seconds = ExportedTime(stage);
    if (!seconds) continue;
    const std::string group = GroupOfPass(stage.pass);
    const std::int64_t start = TicksOf(time);
    time += seconds->median;
    events.push_back(Complete(LabelOf(stage), group, kStepProcess, tracks.Of(group), start,
                              TicksOf(time), ArgumentsOf(stage)));
    counters.Set(start, CountersOf(stage, *seconds));
  }
  counters.Set(TicksOf(time), {});
  counters.MoveTo(events);
}

// A series of one stage over the iterations: each point is the mean of some iterations.
struct Points {
  std::vector<double> means;
  std::int64_t per_point = 1;
};

Points PointsOf(const Json& stage, const char* series, const char* per_point) {
  Points points;
  points.per_point = std::max<std::int64_t>(stage.value(per_point, std::int64_t{1}), 1);
  for (const Json& mean : stage.at(series)) {
    points.means.push_back(mean.is_number() ? mean.get<double>() : 0);
  }
  return points;
}

// The iterations of one phase ("warm-up" or "steady").
struct PhaseOfRun {
  std::string name;
  const char* series;
  const char* per_point;
  std::int64_t iterations = 0;  // 0: not known
};

std::int64_t IterationsOf(const Json& evolution, const std::string& phase) {
  for (const Json& row : evolution.at("phases")) {
    if (row.at("phase") == phase) return row.at("iterations").get<std::int64_t>();
  }
  return 0;
}

// Draws the iterations of a run one after the other.
class Iterations {
 public:
  Iterations(const Report& report, const Tracks& tracks, Json& events)
      : report_(report), tracks_(tracks), events_(events) {}

  void Add(const PhaseOfRun& phase) {
    const Json& stages = report_.evolution.json().at("stages");
    const Points steps = PointsOf(stages.back(), phase.series, phase.per_point);
    std::vector<Points> own;
    for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
      own.push_back(PointsOf(stages[s], phase.series, phase.per_point));
    }
    std::int64_t first = 1;
    for (std::size_t i = 0; i < steps.means.size(); ++i) {
      const bool last = i + 1 == steps.means.size();
      const std::int64_t rest = phase.iterations - first + 1;
      const std::int64_t n = last && rest > 0 ? std::min(rest, steps.per_point) : steps.per_point;
      AddPoint(phase.name, i, first, n, steps, own);
      first += n;
    }
  }

 private:
  // Point i, the mean of `n` iterations from `first` on. It gets the time of all of them.
  void AddPoint(const std::string& phase, std::size_t i, std::int64_t first, std::int64_t n,
                const Points& steps, const std::vector<Points>& own) {
    const double count = static_cast<double>(n);
    const std::string numbers =
        n == 1 ? fmt::format("{}", first) : fmt::format("{} to {}", first, first + n - 1);
    double sum = 0;
    for (const std::string& group : tracks_.groups()) {
      const double mean = MeanOf(group, i, own);
      Event(group, phase, numbers, n, tracks_.Of(group), time_ + sum, mean * count,
            Holds(group) && mean > 0);
      sum += mean * count;
    }
    const double step = steps.means[i] * count;
    Event("step", phase, numbers, n, kStepTrack, time_, step,
          MayBeExported(report_.step) && step > 0);
    time_ += std::max(step, sum);
  }

  void Event(const std::string& what, const std::string& phase, const std::string& numbers,
             std::int64_t n, int track, double start, double seconds, bool shown) {
    if (!shown) return;
    Json arguments = {{"phase", phase}, {"iterations", n}};
    if (n > 1) arguments["mean_seconds"] = seconds / static_cast<double>(n);
    events_.push_back(Complete(fmt::format("{} {}", what, numbers), phase, kIterationsProcess,
                               track, TicksOf(start), TicksOf(start + seconds),
                               std::move(arguments)));
  }

  double MeanOf(const std::string& group, std::size_t i, const std::vector<Points>& own) const {
    double sum = 0;
    for (std::size_t s = 0; s < own.size(); ++s) {
      if (GroupOfPass(report_.stages[s].pass) == group && i < own[s].means.size()) {
        sum += own[s].means[i];
      }
    }
    return sum;
  }

  // Whether all stages of the group hold: the group's time includes them.
  bool Holds(const std::string& group) const {
    return std::all_of(report_.stages.begin(), report_.stages.end(), [&](const Record& stage) {
      return GroupOfPass(stage.pass) != group || MayBeExported(stage);
    });
  }

  const Report& report_;
  const Tracks& tracks_;
  Json& events_;
  double time_ = 0;  // seconds
};

// Returns whether there are iterations: the run was asked for its series, and is complete.
bool AddIterations(const Report& report, const Tracks& tracks, Json& events) {
  const Json& evolution = report.evolution.json();
  if (evolution.is_null() || evolution.at("stages").size() != report.stages.size() + 1) {
    return false;
  }
  tracks.AddNames(kIterationsProcess, "every iteration of the run", events);
  Iterations iterations(report, tracks, events);
  iterations.Add({.name = "warm-up",
                  .series = "warmup_seconds",
                  .per_point = "warmup_values_per_point",
                  .iterations = IterationsOf(evolution, "warm-up")});
  iterations.Add({.name = "steady",
                  .series = "seconds",
                  .per_point = "values_per_point",
                  .iterations = IterationsOf(evolution, "steady")});
  return true;
}

Json LeftOut(const Report& report) {
  Json lines = Json::array();
  const auto add = [&lines](const std::string& name, const Record& record) {
    if (ExportedTime(record)) return;
    const std::string zero = record.seconds && MayBeExported(record) ? ": a time of 0" : "";
    lines.push_back(name + ": " + StatusText(record.status, record.reason) + zero);
  };
  add("step", report.step);
  for (const Record& stage : report.stages) add(LabelOf(stage), stage);
  return lines;
}

std::string TraceText(const Report& report) {
  Json events = Json::array();
  const Tracks tracks(report);
  AddStep(report, tracks, events);
  const bool iterations = AddIterations(report, tracks, events);
  Json other = {{"program", "topdnn"},
                {"command", report.command},
                {"machine", MachineText(report)},
                {"subject", SubjectText(report)},
                {"verdict", StatusText(report.step.status, report.step.reason)},
                {"partial", report.partial}};
  other["layout"] =
      "not a recording of one step: the stages' median times, one after the other in the order of "
      "the run; their sum differs from the median of the step";
  other["counters"] =
      "GFLOP/s and GB/s: the FLOPs as defined and the compulsory bytes over the median time; "
      "event: counts per step; a counter is 0 where the stage has no such value";
  if (iterations) {
    other["iterations"] =
        "one after the other without the pauses between them; the groups of an iteration are sums "
        "of their stages, in the order of their first stages";
  }
  other["left_out"] = LeftOut(report);
  return JsonText({{"traceEvents", std::move(events)},
                   {"displayTimeUnit", "ns"},
                   {"otherData", std::move(other)}});
}

const ReportRegistration kTrace(FileReport{
    .name = "timeline",
    .help = "write the stages on a time axis to this file, for Perfetto and speedscope; with "
            "--series also every iteration",
    .text = TraceText});

}  // namespace

}  // namespace topdnn
