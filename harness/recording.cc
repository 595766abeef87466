#include "harness/recording.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/input_file.h"
#include "harness/one_line.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

// ---- Writing.

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Counts of (iterations, events) as a series per event; fractions only if not all are 1.
void PutCounts(const StageSamples& samples, std::size_t events, Json& json) {
  json["counts"] = Json::array();
  json["running"] = Json::array();
  for (std::size_t e = 0; e < events; ++e) {
    Json values = Json::array();
    Json fractions = Json::array();
    bool whole = true;
    for (std::size_t at = e; at < samples.counts.size(); at += events) {
      values.push_back(OrNull(samples.counts[at].value));
      fractions.push_back(samples.counts[at].running_fraction);
      whole = whole && samples.counts[at].running_fraction == 1;
    }
    json["counts"].push_back(std::move(values));
    json["running"].push_back(whole ? Json(1) : std::move(fractions));
  }
}

Json ToJson(const EventCount& count) {
  return {{"value", OrNull(count.value)},
          {"running", count.running_fraction},
          {"reason", count.reason}};
}

Json ToJson(const std::vector<EventCount>& counts) {
  Json json = Json::array();
  for (const EventCount& count : counts) json.push_back(ToJson(count));
  return json;
}

Json ToJson(const StageSamples& samples, std::size_t events) {
  Json json = {{"name", samples.name},
               {"seconds", samples.seconds},
               {"warmup_seconds", samples.warmup_seconds},
               {"empty_seconds", samples.empty_seconds}};
  if (samples.left_out > 0) json["left_out"] = samples.left_out;
  PutCounts(samples, events, json);
  json["run_counts"] = ToJson(samples.run_counts);
  json["threads"] = Json::array();
  for (const ThreadCounts& thread : samples.threads) {
    json["threads"].push_back({{"thread", thread.thread}, {"counts", ToJson(thread.counts)}});
  }
  return json;
}

Json ToJson(const Disturbance& seen) {
  Json json = {{"seconds", seen.seconds},
               {"iterations", seen.iterations},
               {"switched_iterations", seen.switched_iterations},
               {"involuntary_switches", seen.involuntary_switches},
               {"switched_excess", OrNull(seen.switched_excess)},
               {"core_hertz_before", OrNull(seen.core_hertz_before)},
               {"core_hertz_after", OrNull(seen.core_hertz_after)},
               {"quiet_ratio", OrNull(seen.quiet_ratio)},
               {"throttled_seconds", OrNull(seen.throttled_seconds)},
               {"machine_time", nullptr},
               {"scheduler_time", nullptr}};
  if (seen.machine_time) {
    json["machine_time"] = {{"stolen", seen.machine_time->stolen},
                            {"wanted", seen.machine_time->wanted}};
  }
  if (seen.scheduler_time) {
    json["scheduler_time"] = {{"running", seen.scheduler_time->running},
                              {"waiting", seen.scheduler_time->waiting}};
  }
  return json;
}

Json ToJson(const SequenceSamples& samples) {
  Json json = {{"clock", samples.clock},
               {"cancelled", samples.cancelled},
               {"warmup",
                {{"steady", samples.warmup.steady},
                 {"iterations", samples.warmup.iterations},
                 {"seconds", samples.warmup.seconds}}},
               {"disturbance", ToJson(samples.disturbance)},
               {"events", samples.events},
               {"event_passes", samples.event_passes},
               {"empty_counts", samples.empty_counts},
               {"run_events", samples.run_events},
               {"regions", Json::array()}};
  for (const StageSamples& stage : samples.stages) {
    json["regions"].push_back(ToJson(stage, samples.events.size()));
  }
  json["regions"].push_back(ToJson(samples.step, samples.events.size()));
  return json;
}

// ---- Reading. Every getter checks the type, and reports the position of an error.

class Node {
 public:
  Node(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  [[noreturn]] void Refuse(const std::string& what) const {
    throw RecordingError(fmt::format("{}: {}: record it again with --record", where_, what));
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
  bool Has(const char* key) const { return json_.is_object() && json_.contains(key); }
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
  double Number(double least = 0, double most = std::numeric_limits<double>::max()) const {
    if (!json_.is_number()) Refuse("not a number");
    const double value = json_.get<double>();
    if (!(value >= least && value <= most)) {
      Refuse(fmt::format("{} is not between {} and {}", value, least, most));
    }
    return value;
  }
  std::optional<double> MaybeNumber(double least = 0) const {
    return null() ? std::nullopt : std::optional(Number(least));
  }
  std::int64_t Whole() const {
    if (!json_.is_number_integer()) Refuse("not an integer");
    const double value = Number(0, 9007199254740992.0);  // 2^53
    return static_cast<std::int64_t>(value);
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
  std::vector<double> Numbers() const {
    if (!json_.is_array()) Refuse("not an array");
    std::vector<double> numbers;
    numbers.reserve(json_.size());
    for (const Json& item : json_) numbers.push_back(Node(item, where_).Number());
    return numbers;
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const Node& item : Items()) texts.push_back(item.Text());
    return texts;
  }

 private:
  const Json& json_;
  std::string where_;
};

// Removes control characters from texts, since they are printed on a terminal.
Json Cleaned(const Json& json) {
  if (json.is_string()) return OneLine(json.get<std::string>());
  Json cleaned = json;
  if (json.is_structured()) {
    for (Json& item : cleaned) item = Cleaned(item);
  }
  return cleaned;
}

std::vector<std::string> EventNames(const Node& node) {
  std::vector<std::string> names = node.Texts();
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) node.Refuse(fmt::format("duplicate event {}", name));
  }
  return names;
}

EventCount ParseCount(const Node& node) {
  return {.value = node["value"].MaybeNumber(),
          .running_fraction = node["running"].Number(0, 1),
          .reason = node["reason"].Text()};
}

std::vector<EventCount> ParseCounts(const Node& node, std::size_t size) {
  std::vector<EventCount> counts;
  for (const Node& item : node.Items()) counts.push_back(ParseCount(item));
  if (counts.size() != size && !counts.empty()) {
    node.Refuse(fmt::format("{} counts for {} events", counts.size(), size));
  }
  return counts;
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
    const bool whole = fractions[e].json().is_number() && fractions[e].Number(1, 1) == 1;
    const auto shares = whole ? std::vector<Node>{} : fractions[e].Items();
    if (values.size() * events != counts.size() || (!whole && shares.size() != values.size())) {
      series[e].Refuse("the number of counts differs from that of the first event");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      counts[i * events + e] = {.value = values[i].MaybeNumber(),
                                .running_fraction = whole ? 1.0 : shares[i].Number(0, 1)};
    }
  }
  return counts;
}

StageSamples ParseRegion(const Node& node, std::size_t events, std::size_t run_events) {
  StageSamples samples;
  samples.name = node["name"].Text();
  samples.seconds = node["seconds"].Numbers();
  samples.warmup_seconds = node["warmup_seconds"].Numbers();
  samples.empty_seconds = node["empty_seconds"].Number();
  if (node.Has("left_out")) samples.left_out = node["left_out"].Whole();
  samples.counts = ParseSeries(node, events);
  samples.run_counts = ParseCounts(node["run_counts"], run_events);
  for (const Node& thread : node["threads"].Items()) {
    samples.threads.push_back(
        {static_cast<int>(thread["thread"].Whole()), ParseCounts(thread["counts"], events)});
  }
  return samples;
}

Disturbance ParseDisturbance(const Node& node) {
  Disturbance seen;
  seen.seconds = node["seconds"].Number();
  seen.iterations = node["iterations"].Whole();
  seen.switched_iterations = node["switched_iterations"].Whole();
  seen.involuntary_switches = node["involuntary_switches"].Whole();
  seen.switched_excess = node["switched_excess"].MaybeNumber(-1);
  seen.core_hertz_before = node["core_hertz_before"].MaybeNumber();
  seen.core_hertz_after = node["core_hertz_after"].MaybeNumber();
  seen.quiet_ratio = node["quiet_ratio"].MaybeNumber();
  const Node time = node["machine_time"];
  if (!time.null()) {
    seen.machine_time = {.stolen = static_cast<std::uint64_t>(time["stolen"].Whole()),
                         .wanted = static_cast<std::uint64_t>(time["wanted"].Whole())};
  }
  if (const auto scheduler = node.Find("scheduler_time")) {
    seen.scheduler_time = {.running = static_cast<std::uint64_t>((*scheduler)["running"].Whole()),
                           .waiting = static_cast<std::uint64_t>((*scheduler)["waiting"].Whole())};
  }
  if (const auto throttled = node.Find("throttled_seconds")) {
    seen.throttled_seconds = throttled->Number();
  }
  return seen;
}

SequenceSamples ParseSequence(const Node& node) {
  SequenceSamples samples;
  samples.clock = node["clock"].Text();
  samples.cancelled = node["cancelled"].Flag();
  samples.warmup = {.steady = node["warmup"]["steady"].Flag(),
                    .iterations = static_cast<std::size_t>(node["warmup"]["iterations"].Whole()),
                    .seconds = node["warmup"]["seconds"].Number()};
  samples.disturbance = ParseDisturbance(node["disturbance"]);
  samples.events = EventNames(node["events"]);
  samples.run_events = EventNames(node["run_events"]);
  samples.empty_counts = node["empty_counts"].Numbers();
  for (const Node& pass : node["event_passes"].Items()) {
    samples.event_passes.push_back(static_cast<std::size_t>(pass.Whole()));
  }
  const std::size_t events = samples.events.size();
  if (samples.empty_counts.size() != events || samples.event_passes.size() != events) {
    node.Refuse(fmt::format("{} event_passes and {} empty_counts for {} events",
                            samples.event_passes.size(), samples.empty_counts.size(), events));
  }
  for (const Node& region : node["regions"].Items()) {
    samples.stages.push_back(ParseRegion(region, events, samples.run_events.size()));
    const StageSamples& own = samples.stages.back();
    const StageSamples& first = samples.stages.front();
    if (own.seconds.size() != first.seconds.size() || own.counts.size() != first.counts.size() ||
        own.warmup_seconds.size() != first.warmup_seconds.size()) {
      region.Refuse("the number of iterations differs from that of the first region");
    }
  }
  if (samples.stages.size() < 2)
    node.Refuse("fewer than two regions: expected at least one stage and the step");
  samples.step = std::move(samples.stages.back());
  samples.stages.pop_back();
  return samples;
}

MarkOverhead ParseOverhead(const Node& node) {
  constexpr double kMaxOverhead = 1e9;  // a larger overhead is an error
  MarkOverhead overhead{.ratio = node["ratio"].Number(-kMaxOverhead, kMaxOverhead),
                        .interval = std::nullopt,
                        .pairs = node["pairs"].Whole()};
  const std::optional<double> low = node["low"].MaybeNumber(-kMaxOverhead);
  const std::optional<double> high = node["high"].MaybeNumber(-kMaxOverhead);
  if (low.has_value() != high.has_value()) node.Refuse("only one of low and high is null");
  if (low && high) overhead.interval = Interval{.low = *low, .high = *high};
  return overhead;
}

}  // namespace

std::string FormatRecording(const Recording& recording) {
  Json json = {{"topdnn_recording", kRecordingVersion},
               {"command", recording.command},
               {"machine", recording.machine},
               {"subject", recording.subject},
               {"smt", recording.smt},
               {"in_network", ToJson(recording.in_network)},
               {"isolated", Json::array()},
               {"isolated_otherwise", Json::array()},
               {"check_note", recording.check_note},
               {"overhead", nullptr},
               {"checks", Json::array()},
               {"source_notes", recording.source_notes}};
  for (const SequenceSamples& samples : recording.isolated) {
    json["isolated"].push_back(ToJson(samples));
  }
  for (const SequenceSamples& samples : recording.isolated_otherwise) {
    json["isolated_otherwise"].push_back(ToJson(samples));
  }
  if (recording.overhead) {
    const std::optional<Interval>& interval = recording.overhead->interval;
    json["overhead"] = {{"ratio", recording.overhead->ratio},
                        {"low", interval ? Json(interval->low) : Json(nullptr)},
                        {"high", interval ? Json(interval->high) : Json(nullptr)},
                        {"pairs", recording.overhead->pairs}};
  }
  for (const Recording::Check& check : recording.checks) {
    json["checks"].push_back({{"agrees", check.agrees}, {"reason", check.reason}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Recording ParseRecording(std::string_view text, const std::string& where) {
  const Json json = Json::parse(text, nullptr, false);
  const Node root(json, where);
  if (!json.is_object()) root.Refuse("not a JSON object, or incomplete");
  const std::int64_t version = root["topdnn_recording"].Whole();
  if (version != kRecordingVersion) {
    root.Refuse(
        fmt::format("version {}, but this program reads version {}", version, kRecordingVersion));
  }
  Recording recording;
  recording.command = root["command"].Text();
  recording.machine = Cleaned(root["machine"].json());
  recording.subject = Cleaned(root["subject"].json());
  if (!recording.machine.is_object()) root["machine"].Refuse("not an object");
  if (!recording.subject.is_object()) root["subject"].Refuse("not an object");
  recording.smt = root["smt"].Flag();
  recording.in_network = ParseSequence(root["in_network"]);
  for (const Node& node : root["isolated"].Items()) {
    recording.isolated.push_back(ParseSequence(node));
  }
  for (const Node& node : root["isolated_otherwise"].Items()) {
    recording.isolated_otherwise.push_back(ParseSequence(node));
  }
  recording.check_note = root["check_note"].Text();
  if (!root["overhead"].null()) recording.overhead = ParseOverhead(root["overhead"]);
  for (const Node& check : root["checks"].Items()) {
    recording.checks.push_back({check["agrees"].Flag(), check["reason"].Text()});
  }
  recording.source_notes = root["source_notes"].Texts();
  return recording;
}

Recording ReadRecording(const std::string& path) {
  const std::string text = ReadInputFile(
      path, {.most_bytes = kMaxBytes, .smaller = "record fewer --iterations"},
      [&path](const std::string& why) { throw RecordingError(fmt::format("{}: {}", path, why)); });
  return ParseRecording(text, path);
}

}  // namespace topdnn
