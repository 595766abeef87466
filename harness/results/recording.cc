#include "harness/results/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>

#include "harness/files/input_file.h"
#include "harness/text/errors.h"
#include "harness/text/nested_json.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxRecordingBytes = std::size_t{256} << 20;

// The range of a number. By default that of 64 bits: a larger one would be infinite in a sum.
struct Range {
  double least = 0, most = 0x1p64;
};
constexpr Range kSeconds{0, 1e9};  // over 30 years

// ---- The fields, for writing and reading: an archive writes a const object, or reads into one
// that is not const. `Later` marks the fields that recordings of earlier versions lack.

template <class T, class Of>
concept Either = std::same_as<std::remove_const_t<T>, Of>;

void Fields(auto& archive, Either<EventCount> auto& count) {
  archive("value", count.value);
  archive("running", count.running_fraction, Range{0, 1});
  archive("reason", count.reason);
}

void Fields(auto& archive, Either<ThreadCounts> auto& thread) {
  archive("thread", thread.thread);
  archive("counts", thread.counts);
}

// Without the series of counts (PutSeries).
void Fields(auto& archive, Either<StageSamples> auto& samples) {
  archive("name", samples.name);
  archive("seconds", samples.seconds, kSeconds);
  archive("warmup_seconds", samples.warmup_seconds, kSeconds);
  archive("empty_seconds", samples.empty_seconds, kSeconds);
  archive.Later("left_out", samples.left_out);
  archive("run_counts", samples.run_counts);
  archive("threads", samples.threads);
  archive.Later("waited", samples.waited);
  archive.Later("pace", samples.pace);
}

void Fields(auto& archive, Either<MachineTime> auto& time) {
  archive("stolen", time.stolen);
  archive("wanted", time.wanted);
}

void Fields(auto& archive, Either<SchedulerTime> auto& time) {
  archive("running", time.running);
  archive("waiting", time.waiting);
}

void Fields(auto& archive, Either<Disturbance> auto& seen) {
  archive("seconds", seen.seconds, kSeconds);
  archive("iterations", seen.iterations);
  archive("switched_iterations", seen.switched_iterations);
  archive("involuntary_switches", seen.involuntary_switches);
  archive("switched_excess", seen.switched_excess, Range{.least = -1});
  archive("core_hertz_before", seen.core_hertz_before);
  archive("core_hertz_after", seen.core_hertz_after);
  archive("quiet_ratio", seen.quiet_ratio);
  archive("machine_time", seen.machine_time);
  archive.Later("scheduler_time", seen.scheduler_time);
  archive.Later("throttled_seconds", seen.throttled_seconds);
  archive.Later("judged", seen.judged);
}

void Fields(auto& archive, Either<QuietReading> auto& reading) {
  archive("flops_per_second", reading.flops_per_second);
  archive("bytes_per_second", reading.bytes_per_second);
  archive.Later("instructions_per_second", reading.instructions_per_second);
}

void Fields(auto& archive, Either<SpanMark> auto& mark) {
  archive("iteration", mark.iteration);
  archive("speed", mark.speed);
  archive("stolen", mark.stolen);
  archive("throttled", mark.throttled);
}

void Fields(auto& archive, Either<Warmup> auto& warmup) {
  archive("steady", warmup.steady);
  archive("iterations", warmup.iterations);
  archive("seconds", warmup.seconds, kSeconds);
}

// Without the regions.
void Fields(auto& archive, Either<SequenceSamples> auto& samples) {
  archive("clock", samples.clock);
  archive("cancelled", samples.cancelled);
  archive("warmup", samples.warmup);
  archive("disturbance", samples.disturbance);
  archive("events", samples.events);
  archive("event_passes", samples.event_passes);
  archive("empty_counts", samples.empty_counts);
  archive("run_events", samples.run_events);
  archive.Later("switches", samples.switches);
  archive.Later("marks", samples.marks);
  archive.Later("best_speeds", samples.best_speeds);
  archive.Later("cut_short", samples.cut_short);
}

void Fields(auto& archive, Either<Recording::Check> auto& check) {
  archive("agrees", check.agrees);
  archive("reason", check.reason);
}

// Without the machine and the subject, which are JSON.
void Fields(auto& archive, Either<Recording> auto& recording) {
  archive("command", recording.command);
  archive("smt", recording.smt);
  archive("in_network", recording.in_network);
  archive("isolated", recording.isolated);
  archive("isolated_otherwise", recording.isolated_otherwise);
  archive("check_note", recording.check_note);
  archive("overhead", recording.overhead);
  archive("checks", recording.checks);
  archive("source_notes", recording.source_notes);
  archive.Later("isolated_cut_short", recording.isolated_cut_short);
}

// ---- Writing.

Json Written(const SequenceSamples& samples);
Json Written(const MarkOverhead& overhead);
template <class T>
Json Written(const T& value);

template <class T>
Json Written(const std::optional<T>& value) {
  return value ? Written(*value) : Json(nullptr);
}

template <class T>
Json Written(const std::vector<T>& values) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(Written(value));
  return json;
}

Json Written(const MarkOverhead& overhead) {
  const std::optional<Interval>& interval = overhead.interval;
  return {{"ratio", overhead.ratio},
          {"low", interval ? Json(interval->low) : Json(nullptr)},
          {"high", interval ? Json(interval->high) : Json(nullptr)},
          {"pairs", overhead.pairs}};
}

class Writer {
 public:
  template <class T>
  void operator()(const char* key, const T& value, const Range& = {}) {
    json_[key] = Written(value);
  }
  // Left out if it is 0, absent or empty, so that programs of earlier versions can read the rest.
  template <class T>
  void Later(const char* key, const T& value) {
    if (static_cast<bool>(value)) (*this)(key, value);
  }
  template <class T>
  requires requires(const T& value) { value.empty(); }
  void Later(const char* key, const T& value) {
    if (!value.empty()) (*this)(key, value);
  }
  void Later(const char* key, const QuietReading& reading) {
    if (reading != QuietReading()) (*this)(key, reading);
  }
  Json& json() { return json_; }

 private:
  Json json_ = Json::object();
};

template <class T>
Json FieldsWritten(const T& object) {
  Writer writer;
  Fields(writer, object);
  return std::move(writer.json());
}

template <class T>
Json Written(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    return FieldsWritten(value);
  }
}

// Counts of (iterations, events) as a series per event; fractions only if not all are 1.
void PutSeries(const StageSamples& samples, std::size_t events, Json& json) {
  json["counts"] = Json::array();
  json["running"] = Json::array();
  for (std::size_t e = 0; e < events; ++e) {
    Json values = Json::array();
    Json fractions = Json::array();
    bool whole = true;
    for (std::size_t at = e; at < samples.counts.size(); at += events) {
      values.push_back(Written(samples.counts[at].value));
      fractions.push_back(samples.counts[at].running_fraction);
      whole = whole && samples.counts[at].running_fraction == 1;
    }
    json["counts"].push_back(std::move(values));
    json["running"].push_back(whole ? Json(1) : std::move(fractions));
  }
}

Json Written(const SequenceSamples& samples) {
  Json json = FieldsWritten(samples);
  json["regions"] = Json::array();
  const auto add = [&](const StageSamples& region) {
    json["regions"].push_back(FieldsWritten(region));
    PutSeries(region, samples.events.size(), json["regions"].back());
  };
  for (const StageSamples& stage : samples.stages) add(stage);
  add(samples.step);
  return json;
}

// ---- Reading.

// A part of the file. Every getter checks the type, and reports the position of an error.

class Node {
 public:
  Node(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  [[noreturn]] void Refuse(const std::string& what) const {
    throw InputError(fmt::format("{}: {}: record it again with --record", where_, what));
  }
  Node operator[](const char* key) const {
    if (!json_.is_object()) Refuse("not an object");
    const auto found = json_.find(key);
    if (found == json_.end()) Refuse(fmt::format("\"{}\" is missing", key));
    return {*found, where_ + ": " + key};
  }
  // The same; absent if the key is null or missing, as in recordings of earlier versions.
  std::optional<Node> Find(const char* key) const {
    if (!json_.is_object() || !json_.contains(key) || json_[key].is_null()) return std::nullopt;
    return (*this)[key];
  }
  bool null() const { return json_.is_null(); }
  const Json& json() const { return json_; }

  std::string Text() const {
    if (!json_.is_string()) Refuse("not a string");
    return OneLine(json_.get<std::string>());
  }
  bool Flag() const {
    if (!json_.is_boolean()) Refuse("not a boolean");
    return json_.get<bool>();
  }
  // A finite number.
  double Number(const Range& range = {}) const {
    if (!json_.is_number()) Refuse("not a number");
    const double value = json_.get<double>();
    if (!(value >= range.least && value <= range.most)) {
      Refuse(fmt::format("{} is not between {} and {}", value, range.least, range.most));
    }
    return value;
  }
  std::int64_t Whole(double most = 9007199254740992.0) const {  // 2^53
    if (!json_.is_number_integer()) Refuse("not an integer");
    return static_cast<std::int64_t>(Number({0, std::min(most, 9007199254740992.0)}));
  }
  std::vector<Node> Items() const {
    if (!json_.is_array()) Refuse("not an array");
    std::vector<Node> items;
    items.reserve(json_.size());
    for (std::size_t i = 0; i < json_.size(); ++i) {
      items.emplace_back(json_[i], where_ + " " + std::to_string(i));
    }
    return items;
  }

 private:
  const Json& json_;
  std::string where_;
};

// Removes control characters from texts and names, since they are printed on a terminal.
Json Cleaned(const Json& json) {
  if (json.is_string()) return OneLine(json.get<std::string>());
  Json cleaned = json;
  if (json.is_array()) {
    for (Json& item : cleaned) item = Cleaned(item);
  } else if (json.is_object()) {
    cleaned.clear();
    for (const auto& [name, item] : json.items()) cleaned[OneLine(name)] = Cleaned(item);
  }
  return cleaned;
}

class Reader {
 public:
  explicit Reader(const Node& node) : node_(node) {}
  template <class T>
  void operator()(const char* key, T& value, const Range& range = {}) {
    Read(node_[key], value, range);
  }
  template <class T>
  void Later(const char* key, T& value) {
    if (const auto found = node_.Find(key)) Read(*found, value, Range());
  }

  template <class T>
  static void Read(const Node& node, T& value, const Range& range) {
    if constexpr (std::is_same_v<T, bool>) {
      value = node.Flag();
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(node.Whole(static_cast<double>(std::numeric_limits<T>::max())));
    } else if constexpr (std::is_floating_point_v<T>) {
      value = node.Number(range);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = node.Text();
    } else {
      Reader reader(node);
      Fields(reader, value);
    }
  }
  template <class T>
  static void Read(const Node& node, std::optional<T>& value, const Range& range) {
    if (!node.null()) Read(node, value.emplace(), range);
  }
  template <class T>
  static void Read(const Node& node, std::vector<T>& values, const Range& range) {
    for (const Node& item : node.Items()) Read(item, values.emplace_back(), range);
  }
  static void Read(const Node& node, MarkOverhead& overhead, const Range&);
  static void Read(const Node& node, SequenceSamples& samples, const Range&);

 private:
  const Node& node_;
};

void Reader::Read(const Node& node, MarkOverhead& overhead, const Range&) {
  constexpr double kMaxOverhead = 1e9;  // a larger overhead is an error
  constexpr Range kRange{-kMaxOverhead, kMaxOverhead};
  std::optional<double> low, high;
  Reader reader(node);
  reader("ratio", overhead.ratio, kRange);
  reader("pairs", overhead.pairs);
  reader("low", low, kRange);
  reader("high", high, kRange);
  if (low.has_value() != high.has_value()) node.Refuse("only one of low and high is null");
  if (low && high) overhead.interval = Interval{.low = *low, .high = *high};
}

void RefuseDuplicates(const Node& node, const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) node.Refuse(fmt::format("duplicate event {}", name));
  }
}

void RefuseOtherSize(const Node& node, const std::vector<EventCount>& counts, std::size_t size) {
  if (counts.size() == size || counts.empty()) return;
  node.Refuse(fmt::format("{} counts for {} events", counts.size(), size));
}

// Series per event back to (iterations, events).
std::vector<EventCount> ParseSeries(const Node& region, std::size_t events) {
  const auto series = region["counts"].Items();
  const auto fractions = region["running"].Items();
  if (series.size() != events || fractions.size() != events) {
    region.Refuse(
        fmt::format("{} series of counts and {} series of running fractions for {} events",
                    series.size(), fractions.size(), events));
  }
  std::vector<EventCount> counts;
  for (std::size_t e = 0; e < events; ++e) {
    const auto values = series[e].Items();
    if (e == 0) counts.resize(values.size() * events);
    const bool whole = fractions[e].json().is_number() && fractions[e].Number({1, 1}) == 1;
    const auto shares = whole ? std::vector<Node>{} : fractions[e].Items();
    if (values.size() * events != counts.size() || (!whole && shares.size() != values.size())) {
      series[e].Refuse("the number of counts differs from that of the first event");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      EventCount& count = counts[i * events + e];
      if (!values[i].null()) count.value = values[i].Number();
      count.running_fraction = whole ? 1.0 : shares[i].Number({0, 1});
    }
  }
  return counts;
}

StageSamples RegionOf(const Node& node, std::size_t events, std::size_t run_events) {
  StageSamples samples;
  Reader::Read(node, samples, Range());
  samples.counts = ParseSeries(node, events);
  RefuseOtherSize(node["run_counts"], samples.run_counts, run_events);
  const Node threads = node["threads"];
  for (const auto& thread : samples.threads) RefuseOtherSize(threads, thread.counts, events);
  return samples;
}

// The facts about the samples must be those of as many samples.
void RefuseOtherFacts(const Node& node, const SequenceSamples& samples) {
  const std::size_t iterations = samples.step.seconds.size();
  const auto check = [&](std::size_t facts) {
    if (facts != iterations && facts != 0)
      node.Refuse(fmt::format("{} facts about {} iterations", facts, iterations));
  };
  for (auto facts : {&StageSamples::waited, &StageSamples::pace}) {
    check((samples.step.*facts).size());
    for (const StageSamples& stage : samples.stages) check((stage.*facts).size());
  }
  check(samples.switches.size());
  std::int64_t before = 0;
  for (const SpanMark& mark : samples.marks) {
    if (mark.iteration < before || mark.iteration > static_cast<std::int64_t>(iterations))
      node.Refuse(fmt::format("a mark before iteration {} of {}", mark.iteration, iterations));
    before = mark.iteration;
  }
}

void Reader::Read(const Node& node, SequenceSamples& samples, const Range&) {
  Reader reader(node);
  Fields(reader, samples);
  RefuseDuplicates(node["events"], samples.events);
  RefuseDuplicates(node["run_events"], samples.run_events);
  const std::size_t events = samples.events.size();
  if (samples.empty_counts.size() != events || samples.event_passes.size() != events) {
    node.Refuse(fmt::format("{} event_passes and {} empty_counts for {} events",
                            samples.event_passes.size(), samples.empty_counts.size(), events));
  }
  for (const Node& region : node["regions"].Items()) {
    samples.stages.push_back(RegionOf(region, events, samples.run_events.size()));
    const StageSamples& own = samples.stages.back();
    const StageSamples& first = samples.stages.front();
    if (own.seconds.size() != first.seconds.size() || own.counts.size() != first.counts.size() ||
        own.warmup_seconds.size() != first.warmup_seconds.size()) {
      region.Refuse("the number of iterations differs from that of the first region");
    }
  }
  if (samples.stages.size() < 2) {
    node.Refuse("fewer than two regions: expected at least one stage and the step");
  }
  samples.step = std::move(samples.stages.back());
  samples.stages.pop_back();
  RefuseOtherFacts(node, samples);
  if (samples.disturbance.judged) SelectSamples(samples);
}

}  // namespace

std::string FormatRecording(const Recording& recording) {
  Json json = {{"topdnn_recording", kRecordingVersion},
               {"machine", recording.machine},
               {"subject", recording.subject}};
  json.update(FieldsWritten(recording));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Recording ParseRecording(std::string_view text, const std::string& where) {
  const Json json = ParseForeignJson<Json>(text);
  const Node root(json, where);
  if (!json.is_object()) root.Refuse("not a JSON object, or incomplete");
  const std::int64_t version = root["topdnn_recording"].Whole();
  if (version != kRecordingVersion) {
    root.Refuse(
        fmt::format("version {}, but this program reads version {}", version, kRecordingVersion));
  }
  Recording recording;
  recording.machine = Cleaned(root["machine"].json());
  recording.subject = Cleaned(root["subject"].json());
  if (!recording.machine.is_object()) root["machine"].Refuse("not an object");
  if (!recording.subject.is_object()) root["subject"].Refuse("not an object");
  Reader::Read(root, recording, Range());
  return recording;
}

Recording ReadRecording(const std::string& path) {
  const std::string text = ReadInputFile(
      path, {.most_bytes = kMaxRecordingBytes, .smaller = "record fewer --iterations"},
      [&path](const std::string& why) { throw InputError(fmt::format("{}: {}", path, why)); });
  return ParseRecording(text, path);
}

}  // namespace topdnn
