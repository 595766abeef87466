#include "bench/profile/recorded_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/text/errors.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

[[noreturn]] void Refuse(const std::string& where, const std::string& what) {
  throw InputError(fmt::format("{}: {}", where, what));
}

std::string TextOf(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Recording RecordingOf(const PlanProfile& profile) {
  Recording recording;
  recording.in_network = profile.in_network;
  recording.isolated = profile.isolated;
  recording.overhead = profile.overhead;
  recording.isolated_otherwise = profile.isolated_otherwise;
  recording.isolated_cut_short = profile.isolated_cut_short;
  recording.check_note = profile.checks.note;
  for (const StageCheck& check : profile.checks.stages) {
    recording.checks.push_back({check.agrees, check.reason});
  }
  return recording;
}

PlanProfile ProfileOf(const Recording& recording, const Plan& plan, const std::string& where) {
  const auto& stages = plan.stages();
  const auto& recorded = recording.in_network.stages;
  for (std::size_t i = 0; i < std::max(stages.size(), recorded.size()); ++i) {
    const std::string here = i < stages.size() ? LabelOf(stages[i]) : "nothing";
    const std::string there = i < recorded.size() ? recorded[i].name : "nothing";
    if (here == there) continue;
    Refuse(where, fmt::format("stage {} is '{}' where this plan has '{}': replay it with the "
                              "options of its recording ({})",
                              i, there, here, recording.command));
  }
  if (recording.checks.size() > stages.size() || recording.isolated.size() > stages.size() ||
      recording.isolated_otherwise.size() > recording.isolated.size()) {
    Refuse(where, fmt::format("more checks or isolated stages than the {} stages of the plan: "
                              "record it again with --record",
                              stages.size()));
  }
  PlanProfile profile;
  profile.in_network = recording.in_network;
  profile.isolated = recording.isolated;
  profile.overhead = recording.overhead;
  profile.isolated_otherwise = recording.isolated_otherwise;
  profile.isolated_cut_short = recording.isolated_cut_short;
  profile.checks.note = recording.check_note;
  for (const Recording::Check& check : recording.checks) {
    profile.checks.stages.push_back({.agrees = check.agrees, .reason = check.reason});
  }
  return profile;
}

std::optional<CoreRates> CoreRatesOf(const Recording& recording, const std::string& where) {
  const auto found = recording.machine.find("core_rates");
  if (found == recording.machine.end()) return std::nullopt;
  try {
    return CoreRatesFromJson(*found);
  } catch (const nlohmann::json::exception&) {
    Refuse(where,
           "machine: core_rates: a part is missing or of another type: record it again with "
           "--record");
  }
}

std::vector<Ceiling> CeilingsOf(const Recording& recording, const std::string& where) {
  std::vector<Ceiling> ceilings;
  const auto found = recording.machine.find("ceilings");
  if (found == recording.machine.end()) return ceilings;
  try {
    for (const auto& json : *found) {
      const auto text = [&json](const char* key) {
        return json.at(key).is_null() ? std::string() : json.at(key).get<std::string>();
      };
      Ceiling ceiling;
      ceiling.name = text("name");
      ceiling.isa = text("isa");
      ceiling.type = text("type");
      ceiling.operands = text("operands");
      ceiling.threads = json.at("threads").get<int>();
      ceiling.unit = text("unit");
      ceiling.note = text("note");
      if (!json.at("value").is_null()) ceiling.value = json.at("value").get<double>();
      // Recordings of earlier versions have no verdict.
      if (json.contains("status")) {
        ceiling.verdict = {ParseStatus(text("status")).value_or(Status::kInvalid), text("reason")};
      } else if (!ceiling.value) {
        ceiling.verdict = {Status::kSkipped, ceiling.note};
      }
      // (no machine reaches 10^18 of anything in a second)
      if (ceiling.value && !(*ceiling.value > 0 && *ceiling.value < 1e18)) {
        ceiling.value.reset();
        ceiling.verdict = {Status::kInvalid, "the recording has an impossible value for it"};
      }
      ceilings.push_back(std::move(ceiling));
    }
  } catch (const nlohmann::json::exception&) {
    Refuse(where,
           "machine: ceilings: a part is missing or of another type: record it again with "
           "--record");
  }
  return ceilings;
}

std::vector<Cache> CachesOf(const Recording& recording, const std::string& where) {
  std::vector<Cache> caches;
  const auto found = recording.machine.find("caches");
  if (found == recording.machine.end()) return caches;
  try {
    for (const auto& json : *found) {
      Cache cache;
      cache.level = json.at("level").get<int>();
      cache.type = json.at("type").get<std::string>();
      cache.size = json.at("size").get<std::int64_t>();
      cache.line = json.at("line").get<std::int64_t>();
      cache.instances = json.at("instances").get<int>();
      cache.shared_by = json.at("shared_by").get<int>();
      caches.push_back(std::move(cache));
    }
  } catch (const nlohmann::json::exception&) {
    Refuse(where,
           "machine: caches: a part is missing or of another type: record it again with "
           "--record");
  }
  return caches;
}

nlohmann::ordered_json ToJson(const RecordedChoice& choice) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::object();
  for (const auto& [layer, names] : choice.variants) {
    if (!names.empty()) layers[layer.first][std::string(NameOf(layer.second))] = names;
  }
  return {{"text", choice.text}, {"variants", layers}};
}

RecordedChoice ChoiceOf(const Recording& recording, const std::string& where) {
  const auto found = recording.subject.find(kChoice);
  if (found == recording.subject.end()) {
    Refuse(where, fmt::format("recorded without --backend auto: replay it with the options of its "
                              "recording ({})",
                              recording.command));
  }
  RecordedChoice choice;
  try {
    choice.text = found->at("text").get<std::string>();
    for (const auto& [layer, passes] : found->at("variants").items()) {
      for (const auto& [name, variants] : passes.items()) {
        const std::optional<Pass> pass = ParsePass(name);
        if (!pass) Refuse(where, fmt::format("{}: no pass '{}': record it again", layer, name));
        choice.variants[{layer, *pass}] = variants.get<std::vector<std::string>>();
      }
    }
  } catch (const nlohmann::json::exception&) {
    Refuse(where, "choice: a part is missing or of another type: record it again with --record");
  }
  return choice;
}

std::string DenormalNoteOf(const Recording& recording, const std::string& where) {
  const auto found = recording.subject.find(kDenormalNote);
  if (found == recording.subject.end()) return "";
  if (!found->is_string()) {
    Refuse(where, "denormal_note: not a text: record it again with --record");
  }
  return OneLine(found->get<std::string>());
}

nlohmann::ordered_json ToJson(const FedStep& fed) {
  auto times = nlohmann::ordered_json::array();
  for (const FedStepTimes& one : fed.times) {
    times.push_back({one.input_wait, one.compute, one.other});
  }
  return {{"source", fed.source},       {"prefetch", fed.prefetch},
          {"loaders", fed.loaders},     {"augmentation", fed.augmentation},
          {"placement", fed.placement}, {"times", times}};
}

std::optional<FedStep> FedStepOf(const Recording& recording, const std::string& where) {
  const auto found = recording.subject.find(kFedStep);
  if (found == recording.subject.end()) return std::nullopt;
  FedStep fed;
  try {
    fed.source = found->at("source").get<std::string>();
    fed.prefetch = found->at("prefetch").get<int>();
    fed.loaders = found->at("loaders").get<int>();
    fed.augmentation = found->at("augmentation").get<std::string>();
    fed.placement = found->at("placement").get<std::string>();
    for (const auto& one : found->at("times")) {
      fed.times.push_back({.input_wait = one.at(0).get<double>(),
                           .compute = one.at(1).get<double>(),
                           .other = one.at(2).get<double>()});
    }
  } catch (const nlohmann::json::exception&) {
    Refuse(where, "fed_step: a part is missing or of another type: record it again with --record");
  }
  const bool possible =
      !fed.times.empty() && std::all_of(fed.times.begin(), fed.times.end(), [](const auto& one) {
        return one.input_wait >= 0 && one.compute >= 0 && one.other >= 0;
      });
  if (!possible) Refuse(where, "fed_step: impossible times: record it again with --record");
  Summarize(fed);
  return fed;
}

std::optional<double> MeasuringSecondsOf(const Recording& recording) {
  const auto found = recording.subject.find(kMeasuringSeconds);
  if (found == recording.subject.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

void CheckSubject(const Recording& recording, const nlohmann::ordered_json& asked,
                  const std::string& where) {
  for (const auto& [key, value] : asked.items()) {
    const auto found = recording.subject.find(key);
    if (found != recording.subject.end() && *found == value) continue;
    Refuse(where,
           fmt::format("recorded with {} {}, not {}: replay it with the options of its recording "
                       "({})",
                       key, found == recording.subject.end() ? "none" : TextOf(*found),
                       TextOf(value), recording.command));
  }
  const auto plan = recording.subject.find("plan");
  if (plan == recording.subject.end() || asked.contains("plan")) return;
  Refuse(where, fmt::format("recorded with --plan {}: give it, too", TextOf(*plan)));
}

}  // namespace topdnn
