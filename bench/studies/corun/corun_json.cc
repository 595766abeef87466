// The JSON of `topdnn corun`.

#include <nlohmann/json.hpp>

#include "bench/command_line/interrupt.h"
#include "bench/studies/corun/corun.h"
#include "bench/studies/results/result_file.h"
#include "harness/report/json.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

Json MedianJson(const std::optional<Slowdown>& value) {
  return value ? JsonNumber(value->median) : Json();
}

Json Ci95Json(const std::optional<Slowdown>& value) {
  return value ? IntervalJson(value->ci95) : Json();
}

const char* NameOf(SharingVerdict verdict) {
  switch (verdict) {
    case SharingVerdict::kSame:
      return "same";
    case SharingVerdict::kSlower:
      return "slower";
    case SharingVerdict::kFaster:
      return "faster";
    case SharingVerdict::kUnknown:
      break;
  }
  return "";
}

void AddTimes(const CorunTimes& times, Json& json) {
  json["solo"] = SecondsJson(times.solo);
  json["shared"] = SecondsJson(times.shared);
  json["slowdown"] = MedianJson(times.slowdown);
  json["ci95"] = Ci95Json(times.slowdown);
  json["verdict"] = TextOrNull(NameOf(times.verdict));
}

Json NumbersJson(const CountsByName& counts) {
  if (counts.empty()) return nullptr;
  Json json = Json::object();
  for (const auto& [name, value] : counts) json[name] = JsonNumber(value);
  return json;
}

template <class Value>
Json ConditionsJson(const CorunCounts& counts, const Value& value) {
  Json json = {{"solo", value(counts.solo)}, {"shared", value(counts.shared)}};
  return json["solo"].is_null() && json["shared"].is_null() ? Json() : json;
}

// Adds the counts, with the keys of a profile's record; nothing if the study does not count.
void AddCounts(const CorunCounts& counts, Json& json) {
  if (counts.events.empty() && counts.reason.empty()) return;
  json["events"] = NumbersJson(counts.events);
  json["flops_counted"] = JsonNumber(counts.flops);
  json["counts_reason"] = TextOrNull(counts.reason);
  json["topdown"] = ConditionsJson(counts, [](const PmuCounts& read) {
    return read.topdown ? NumbersJson(*read.topdown) : Json();
  });
  json["topdown_reason"] = TextOrNull(counts.topdown_reason);
  json["perf_events"] =
      ConditionsJson(counts, [](const PmuCounts& read) { return NumbersJson(read.events); });
  json["running_fraction"] = ConditionsJson(
      counts, [](const PmuCounts& read) { return JsonNumber(read.running_fraction); });
}

void AddStatus(Status status, const std::string& reason, Json& json) {
  json["status"] = NameOf(status);
  json["reason"] = TextOrNull(reason);
}

void AddPartition(const CorunMember& member, Json& json) {
  const Partition& part = member.partition;
  json["ways"] = part.mask ? Json(MaskText(*part.mask)) : Json();
  json["bandwidth_percent"] = part.bandwidth ? Json(*part.bandwidth) : Json();
  json["llc_occupancy_bytes"] = JsonNumber(member.readings.occupancy);
  json["memory_bytes_per_second"] = JsonNumber(member.readings.bytes_per_second);
  json["local_memory_bytes_per_second"] = JsonNumber(member.readings.local_bytes_per_second);
  if (!member.readings.reason.empty()) json["memory_bytes_reason"] = member.readings.reason;
}

}  // namespace

Json CorunMemberJson(const CorunMember& member) {
  Json json = {{"workload", member.workload}, {"cpus", member.cpus}};
  AddTimes(member.iteration, json);
  AddStatus(member.status, member.reason, json);
  json["waited_for_cpu"] = {{"solo", JsonNumber(member.waited_alone)},
                            {"shared", JsonNumber(member.waited_shared)}};
  AddPartition(member, json);
  AddCounts(member.iteration.counts, json);
  json["stages"] = Json::array();
  for (const CorunTimes& stage : member.stages) {
    Json row = {{"name", stage.name}, {"pass", stage.pass}};
    AddTimes(stage, row);
    AddCounts(stage.counts, row);
    json["stages"].push_back(row);
  }
  return json;
}

Json CorunJson(const CorunGroup& group, const std::optional<std::vector<CorunPair>>& matrix) {
  Json json = NewResult({{"partial", Interrupted()},
                         {"rounds", group.rounds},
                         {"window_seconds", JsonNumber(group.window_seconds)},
                         {"share_cores", group.share_cores},
                         {"share_cpus", group.share_cpus},
                         {"group", Json::array()}});
  for (const CorunMember& member : group.members) json["group"].push_back(CorunMemberJson(member));
  json["notes"] = group.notes;
  json["stp"] = MedianJson(group.stp);
  json["stp_ci95"] = Ci95Json(group.stp);
  json["antt"] = MedianJson(group.antt);
  json["antt_ci95"] = Ci95Json(group.antt);
  json["fairness"] = MedianJson(group.fairness);
  json["fairness_ci95"] = Ci95Json(group.fairness);
  if (!matrix) return json;
  json["matrix"] = Json::array();
  for (const CorunPair& pair : *matrix) {
    Json row = {{"victim", pair.victim}, {"aggressor", pair.aggressor}};
    AddTimes(pair.iteration, row);
    AddStatus(pair.status, pair.reason, row);
    json["matrix"].push_back(row);
  }
  return json;
}

}  // namespace topdnn
