#include "harness/counters/replay.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void Refuse(const std::string& where, const std::string& what) {
  throw ReplayError(fmt::format("{}: {}: record it again with --record", where, what));
}

const Json& Part(const Json& object, const char* key, bool (Json::*is)() const noexcept,
                 const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !((*found).*is)()) {
    Refuse(where, fmt::format("\"{}\" is missing or of another type", key));
  }
  return *found;
}

EventCount ParseCount(const Json& count, const Json& fraction, const std::string& where) {
  if (!fraction.is_number()) Refuse(where, "a running fraction is not a number");
  EventCount parsed;
  parsed.running_fraction = fraction.get<double>();
  if (!(parsed.running_fraction >= 0 && parsed.running_fraction <= 1)) {
    Refuse(where, "a running fraction is outside of 0 to 1");
  }
  if (count.is_null()) return parsed;
  if (!count.is_number()) Refuse(where, "a count is neither a number nor null");
  parsed.value = count.get<double>();
  if (!std::isfinite(*parsed.value) || *parsed.value < 0) {
    Refuse(where, "a count is negative or not finite");
  }
  return parsed;
}

RecordedRegion ParseRegion(const Json& json, std::size_t events, const std::string& where) {
  if (!json.is_object()) Refuse(where, "not an object");
  RecordedRegion region;
  region.name = Part(json, "name", &Json::is_string, where).get<std::string>();
  const Json& counts = Part(json, "counts", &Json::is_array, where);
  const Json& fractions = Part(json, "running_fraction", &Json::is_array, where);
  if (counts.size() != events || fractions.size() != events) {
    Refuse(where, fmt::format("{} counts and {} running fractions for {} events", counts.size(),
                              fractions.size(), events));
  }
  for (std::size_t i = 0; i < events; ++i) {
    region.counts.push_back(ParseCount(counts[i], fractions[i], where));
  }
  return region;
}

}  // namespace

std::string FormatRecording(const Recording& recording) {
  Json regions = Json::array();
  for (const RecordedRegion& region : recording.regions) {
    Json counts = Json::array();
    Json fractions = Json::array();
    for (const EventCount& count : region.counts) {
      counts.push_back(count.value ? Json(*count.value) : Json(nullptr));
      fractions.push_back(count.running_fraction);
    }
    regions.push_back({{"name", region.name}, {"counts", counts}, {"running_fraction", fractions}});
  }
  const Json root = {{"topdnn_counts", kRecordingVersion},
                     {"machine", recording.machine},
                     {"events", recording.events},
                     {"regions", regions}};
  return root.dump(1) + "\n";
}

Recording ParseRecording(std::string_view text, const std::string& where) {
  const Json root = Json::parse(text, nullptr, false);
  if (!root.is_object()) Refuse(where, "not a JSON object, or cut short");
  const int version = Part(root, "topdnn_counts", &Json::is_number_integer, where).get<int>();
  if (version != kRecordingVersion) {
    Refuse(where,
           fmt::format("version {} where this program reads {}", version, kRecordingVersion));
  }
  Recording recording;
  recording.machine = Part(root, "machine", &Json::is_object, where);
  std::set<std::string> names;
  for (const Json& name : Part(root, "events", &Json::is_array, where)) {
    if (!name.is_string()) Refuse(where, "an event's name is not a string");
    recording.events.push_back(name.get<std::string>());
    if (!names.insert(recording.events.back()).second) {
      Refuse(where, fmt::format("the event {} stands twice", recording.events.back()));
    }
  }
  const Json& regions = Part(root, "regions", &Json::is_array, where);
  for (std::size_t i = 0; i < regions.size(); ++i) {
    recording.regions.push_back(
        ParseRegion(regions[i], recording.events.size(), fmt::format("{}: region {}", where, i)));
  }
  return recording;
}

Recording ReadRecording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ReplayError(fmt::format("{}: cannot be read: check the name", path));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return ParseRecording(text, path);
}

}  // namespace topdnn
