#include "bench/validation/known_checks.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "bench/formats/checksum.h"
#include "bench/formats/whole_file.h"
#include "bench/workload/libraries.h"
#include "bench/workload/network_source.h"
#include "harness/report/atomic_file.h"
#include "harness/user_cache/remembered_best.h"
#include "kernels/plugin/plugins.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

// The build ID in a segment of notes, in hexadecimal; empty if it has none (ELF specification,
// "Note Section"; names and descriptions are padded to 4 bytes).
std::string BuildIdIn(const std::byte* notes, std::size_t size) {
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t content = name + padded(note.n_namesz);
    at = content + padded(note.n_descsz);
    if (at > size) break;
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
        std::memcmp(notes + name, "GNU", 4) != 0) {
      continue;
    }
    std::string id;
    for (std::size_t i = 0; i < note.n_descsz; ++i) {
      id += fmt::format("{:02x}", static_cast<unsigned>(notes[content + i]));
    }
    return id;
  }
  return "";
}

// Callback of dl_iterate_phdr: adds the build ID of one object.
int AddBuildId(dl_phdr_info* info, std::size_t, void* ids) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const ElfW(Addr) address = info->dlpi_addr + header.p_vaddr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
    const auto* notes = reinterpret_cast<const std::byte*>(address);
    const std::string id = BuildIdIn(notes, header.p_memsz);
    if (!id.empty()) static_cast<std::set<std::string>*>(ids)->insert(id);
  }
  return 0;
}

// One file per key: the checksum is of the whole key.
std::string FileOf(const std::string& folder, const Json& key) {
  return fmt::format("{}/{}.json", folder, Checksum(key.dump()));
}

// Of the program and all loaded libraries.
std::set<std::string> BuildIds() {
  std::set<std::string> ids;
  dl_iterate_phdr(AddBuildId, &ids);
  return ids;
}

}  // namespace

Json KeyOfChecks(const WorkloadOptions& options, bool training) {
  if (IsOnnxPath(options.network) || !options.weights.empty() || options.variants ||
      !Plugins().empty()) {
    return nullptr;
  }
  return {{"network", options.network},
          {"training", training},
          {"backend", options.backend},
          {"fallback", options.fallback},
          {"dtype", options.dtype},
          {"threads", ThreadsOf(options)},
          {"seed", options.seed},
          {"optimizer", options.optimizer},
          {"learning_rate", options.learning_rate},
          {"momentum", options.momentum},
          {"weight_decay", options.weight_decay},
          {"dropout", options.dropout},
          {"draw", static_cast<int>(options.draw)},
          {"machine", ThisMachineKey(LibraryVersions().dump())},
          {"build_ids", BuildIds()}};
}

std::vector<CheckedStage> StagesOf(const Plan& plan, std::vector<StageCheck> checks) {
  std::vector<CheckedStage> stages;
  stages.reserve(checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Stage& stage = plan.stages()[i];
    stages.push_back({.name = stage.name,
                      .pass = std::string(NameOf(stage.pass)),
                      .implementation = stage.kernel->implementation(),
                      .check = std::move(checks[i])});
  }
  return stages;
}

bool SameStages(const std::vector<CheckedStage>& a, const std::vector<CheckedStage>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const CheckedStage& x, const CheckedStage& y) {
        return x.name == y.name && x.pass == y.pass && x.implementation == y.implementation;
      });
}

std::optional<NetworkChecks> ReadKnownChecks(const std::string& folder, const Json& key) {
  NetworkChecks checks;
  try {
    const Json json = Json::parse(ReadWholeFile(FileOf(folder, key), kMostBytes));
    if (json.at("key") != key) return std::nullopt;
    checks.batch = json.at("batch").get<std::int64_t>();
    checks.image = json.at("image").get<std::string>();
    for (const Json& stage : json.at("stages")) {
      checks.stages.push_back({.name = stage.at("name").get<std::string>(),
                               .pass = stage.at("pass").get<std::string>(),
                               .implementation = stage.at("implementation").get<std::string>(),
                               .check = {}});
    }
  } catch (const std::exception&) {  // no file, or a damaged one: the checks are made again
    return std::nullopt;
  }
  return checks;
}

void WriteKnownChecks(const std::string& folder, const Json& key, const NetworkChecks& checks) {
  const auto& stages = checks.stages;
  if (!std::all_of(stages.begin(), stages.end(),
                   [](const auto& s) { return s.check.agrees && !s.check.mostly_zero; })) {
    return;
  }
  Json json = {
      {"key", key}, {"batch", checks.batch}, {"image", checks.image}, {"stages", Json::array()}};
  for (const CheckedStage& stage : stages) {
    json["stages"].push_back(
        {{"name", stage.name}, {"pass", stage.pass}, {"implementation", stage.implementation}});
  }
  std::error_code error;  // (the write reports what is wrong with the folder)
  std::filesystem::create_directories(folder, error);
  WriteFileAtomically(FileOf(folder, key), json.dump(1) + "\n");
}

}  // namespace topdnn
