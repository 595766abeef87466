#include "bench/studies/results/result_file.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/formats/whole_file.h"
#include "harness/machine/machine.h"
#include "harness/text/nested_json.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// A result of that kind has all of these keys, and no result of another kind has them.
struct KindKeys {
  ResultKind kind;
  std::string_view name;
  std::vector<std::string_view> keys;
};

const std::array<KindKeys, 9>& Kinds() {
  static const std::array<KindKeys, 9> kinds = {{
      {ResultKind::kProfile, "profile", {"step", "stages"}},
      {ResultKind::kSweep, "sweep", {"cases", "left_out"}},
      {ResultKind::kComparison, "comparison", {"rows", "verdict"}},
      {ResultKind::kFleet, "fleet", {"fleet", "machines"}},
      {ResultKind::kSharing, "corun", {"group", "stp"}},
      {ResultKind::kScheduling, "cosched", {"policies", "cpus"}},
      {ResultKind::kTrace, "trace", {"rows", "framework_seconds"}},
      {ResultKind::kGoogleBenchmark, "Google Benchmark", {"context", "benchmarks"}},
      {ResultKind::kMachine, "machine", {"cpu", "ceilings"}},
  }};
  return kinds;
}

std::optional<ResultKind> KindOf(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  for (const KindKeys& kind : Kinds()) {
    bool all = true;
    for (const std::string_view key : kind.keys) all = all && json.contains(key);
    if (all) return kind.kind;
  }
  return std::nullopt;
}

// Google Benchmark's files have no schema.
void CheckSchema(const std::string& path, ResultKind kind, const Json& json) {
  if (kind == ResultKind::kGoogleBenchmark) return;
  const auto schema = json.find("schema");
  if (schema == json.end()) {
    throw UsageError(fmt::format("{}: has no \"schema\": give a result that topdnn wrote", path));
  }
  if (*schema == kResultSchema) return;
  throw UsageError(fmt::format(
      "{}: schema {}, but this topdnn reads schema {}: write the result again with this "
      "version, or read it with the version that wrote it",
      path, schema->dump(), kResultSchema));
}

constexpr std::size_t kMostResultBytes = std::size_t{1} << 30;

}  // namespace

std::string NameOf(ResultKind kind) {
  for (const KindKeys& known : Kinds()) {
    if (known.kind == kind) return std::string(known.name);
  }
  return "";
}

Json NewResult(const Json& more) {
  Json json = {{"schema", kResultSchema},
               {"command", CommandLine()},
               {"machine", ToJson(DescribeMachine())}};
  json.update(more);
  return json;
}

ResultFile ReadResult(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    const std::filesystem::path index = std::filesystem::path(path) / kSweepIndex;
    if (!std::filesystem::exists(index, none)) {
      throw UsageError(
          fmt::format("{}: a folder without {}: give the --out folder of a sweep, or a result file",
                      path, kSweepIndex));
    }
    ResultFile result = ReadResult(index.string());
    result.path = path;
    return result;
  }
  Json json = ParseForeignJson<Json>(ReadWholeFile(path, kMostResultBytes));
  if (json.is_discarded()) {
    throw UsageError(
        fmt::format("{}: not JSON, or truncated: give a file that topdnn wrote with --json", path));
  }
  const std::optional<ResultKind> kind = KindOf(json);
  if (!kind && json.is_object() && json.contains("exact_counts")) {
    throw UsageError(fmt::format(
        "{}: holds exact counts and no times: give it to `topdnn compare --exact`", path));
  }
  if (!kind) {
    throw UsageError(
        fmt::format("{}: is not a result that topdnn reads: it has the keys of no profile, sweep, "
                    "comparison, fleet, corun, cosched, trace, machine or Google Benchmark file",
                    path));
  }
  CheckSchema(path, *kind, json);
  return {.path = path, .kind = *kind, .json = std::move(json)};
}

std::string TextAt(const nlohmann::ordered_json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

ResultFile ReadSweepCase(const std::string& sweep_folder, const std::string& file) {
  ResultFile profile = ReadResult((std::filesystem::path(sweep_folder) / file).string());
  if (profile.kind == ResultKind::kProfile) return profile;
  throw UsageError(fmt::format("{}: is a {} file: a case of the sweep {} must be a profile",
                               profile.path, NameOf(profile.kind), sweep_folder));
}

}  // namespace topdnn
