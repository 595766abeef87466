#include "bench/studies/results/result_store.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/formats/whole_file.h"
#include "bench/studies/results/result_file.h"
#include "harness/files/atomic_file.h"
#include "harness/report/json.h"
#include "harness/text/nested_json.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kMarker = "topdnn-store.json";
constexpr const char* kVersionKey = "topdnn_store";
constexpr int kStoreVersion = 1;
constexpr const char* kRuns = "runs";
constexpr const char* kStored = "stored.json";
constexpr const char* kUnfinished = ".new-";
constexpr std::size_t kMostStoredBytes = std::size_t{1} << 30;

[[noreturn]] void CannotWrite(const fs::path& path, const std::error_code& error) {
  throw WriteError(
      fmt::format("cannot write '{}': {}; free some space, or name a folder that can "
                  "be written with --store",
                  path.string(), error.message()));
}

// The time to a microsecond, and a random part for several writers: the IDs sort by time.
std::string NewId() {
  static std::mt19937 random(std::random_device{}());
  const auto now = std::chrono::system_clock::now();
  const auto since = now.time_since_epoch();
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(since).count() % 1000000;
  constexpr unsigned kRandom = 0x10000;
  return fmt::format("{:%Y%m%dT%H%M%S}-{:06}-{:04x}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), micro,
                     random() % kRandom);
}

bool IsId(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), allowed);
}

// A directory of a run that is being written; removed unless it is published.
class UnfinishedRun {
 public:
  explicit UnfinishedRun(const fs::path& runs) {
    std::string name = (runs / (std::string(kUnfinished) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) {
      CannotWrite(runs, std::error_code(errno, std::generic_category()));
    }
    path_ = name;
  }
  ~UnfinishedRun() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  UnfinishedRun(const UnfinishedRun&) = delete;
  UnfinishedRun& operator=(const UnfinishedRun&) = delete;

  const fs::path& path() const { return path_; }
  void Publish(const fs::path& name) {
    std::error_code error;
    fs::permissions(path_,
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                        fs::perms::others_read | fs::perms::others_exec,
                    error);  // (some file systems have no permissions)
    fs::rename(path_, name, error);
    if (error) CannotWrite(name, error);
    path_.clear();
  }

 private:
  fs::path path_;
};

}  // namespace

ResultStore ResultStore::Open(const fs::path& folder) {
  std::error_code none;
  const fs::path marker = folder / kMarker;
  if (!fs::is_directory(folder, none)) {
    throw UsageError(
        fmt::format("{}: there is no store: `topdnn results add FILE` makes one", folder.string()));
  }
  if (!fs::exists(marker, none)) {
    throw UsageError(
        fmt::format("{}: is not a store of results: it has no {}; name another folder "
                    "with --store",
                    folder.string(), kMarker));
  }
  const Json json = ParseForeignJson<Json>(ReadWholeFile(marker, kMostStoredBytes));
  const auto version = json.is_object() ? json.find(kVersionKey) : json.end();
  if (version == json.end() || *version != kStoreVersion) {
    throw UsageError(fmt::format("{}: is not a store of version {}: use the topdnn that made it",
                                 folder.string(), kStoreVersion));
  }
  return ResultStore(folder);
}

ResultStore ResultStore::OpenOrMake(const fs::path& folder) {
  std::error_code error;
  const fs::path marker = folder / kMarker;
  // (a writer that is killed before it writes the marker leaves an empty folder of runs)
  const bool fresh = !fs::exists(folder, error) || fs::is_empty(folder, error) ||
                     (!fs::exists(marker, error) && fs::exists(folder / kRuns, error) &&
                      fs::is_empty(folder / kRuns, error));
  if (fresh) {
    fs::create_directories(folder / kRuns, error);
    if (error) CannotWrite(folder / kRuns, error);
    WriteFileAtomically(marker.string(), JsonText(Json{{kVersionKey, kStoreVersion}}));
  }
  return Open(folder);
}

fs::path ResultStore::FolderOfUser() {
  const auto absolute = [](const char* variable) {
    const char* const value = getenv(variable);
    return value != nullptr && fs::path(value).is_absolute() ? fs::path(value) : fs::path();
  };
  if (const fs::path data = absolute("XDG_DATA_HOME"); !data.empty()) return data / "topdnn";
  const fs::path home = absolute("HOME");
  if (home.empty()) {
    throw UsageError(
        "neither XDG_DATA_HOME nor HOME is an absolute path: name the store with "
        "--store");
  }
  return home / ".local" / "share" / "topdnn";
}

void ResultStore::WriteRun(const std::string& text, Json stored) const {
  std::error_code error;
  const fs::path runs = folder_ / kRuns;
  fs::create_directories(runs, error);
  if (error) CannotWrite(runs, error);
  UnfinishedRun run(runs);
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  stored["stored_at"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  WriteFileAtomically((run.path() / "result.json").string(), text);
  WriteFileAtomically((run.path() / kStored).string(), JsonText(stored));
  run.Publish(runs / stored.at("id").get<std::string>());
}

std::string ResultStore::AddText(const std::string& text, const std::string& source) const {
  std::error_code none;
  std::string id = NewId();
  while (fs::exists(folder_ / kRuns / id, none)) id = NewId();
  WriteRun(text, {{"schema", kResultSchema}, {"id", id}, {"stored_at", ""}, {"source", source}});
  return id;
}

bool ResultStore::AddOnce(const std::string& path, const std::string& id,
                          const std::string& machine) const {
  std::error_code none;
  const fs::path run = folder_ / kRuns / id;
  if (fs::exists(run, none)) return false;
  const std::string text = JsonText(ReadResult(path).json);
  try {
    WriteRun(text, {{"schema", kResultSchema},
                    {"id", id},
                    {"stored_at", ""},
                    {"source", path},
                    {"machine", machine}});
  } catch (const WriteError&) {
    if (!fs::exists(run, none)) throw;  // otherwise another process has stored it meanwhile
    return false;
  }
  return true;
}

std::string ResultStore::MachineOf(const std::string& id) const {
  std::error_code none;
  const fs::path file = folder_ / kRuns / id / kStored;
  if (!fs::exists(file, none)) return "";
  return TextAt(ParseForeignJson<Json>(ReadWholeFile(file, kMostStoredBytes)), "machine");
}

std::vector<std::string> ResultStore::Add(const std::string& path) const {
  const ResultFile result = ReadResult(path);
  std::error_code none;
  if (result.kind != ResultKind::kSweep || !fs::is_directory(path, none)) {
    return {AddText(JsonText(result.json), path)};
  }
  // All are read first: a damaged case must not leave a part of the sweep in the store.
  std::vector<std::pair<std::string, std::string>> texts;  // with their files
  for (const Json& one : result.json["cases"]) {
    const std::string file = TextAt(one, "file");
    if (!file.empty()) texts.emplace_back(JsonText(ReadSweepCase(path, file).json), file);
  }
  std::vector<std::string> ids;
  ids.reserve(texts.size());
  for (const auto& [text, file] : texts) {
    ids.push_back(AddText(text, fmt::format("{}/{}", path, file)));
  }
  return ids;
}

std::vector<std::string> ResultStore::Ids() const {
  std::vector<std::string> ids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_ / kRuns, error)) {
    const std::string name = entry.path().filename().string();
    std::error_code none;
    if (IsId(name) && entry.is_directory(none)) ids.push_back(name);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw UsageError(
        fmt::format("{}: cannot be read: {}", (folder_ / kRuns).string(), error.message()));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::string ResultStore::Find(const std::string& id) const {
  std::vector<std::string> found;
  for (const std::string& own : Ids()) {
    if (own == id) return own;
    if (!id.empty() && own.starts_with(id)) found.push_back(own);
  }
  if (found.size() == 1) return found.front();
  throw UsageError(fmt::format("{}: {}: `topdnn results list` prints the IDs", id,
                               found.empty() ? "no such result" : "more than one result"));
}

std::string ResultStore::Read(const std::string& id) const {
  return ReadWholeFile(ResultPath(id), kMostStoredBytes);
}

fs::path ResultStore::ResultPath(const std::string& id) const {
  return folder_ / kRuns / id / "result.json";
}

void ResultStore::RemoveLeftovers() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_ / kRuns, error)) {
    std::error_code none;
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(none);
    const bool unfinished = entry.path().filename().string().starts_with(kUnfinished);
    if (unfinished && !none && age > std::chrono::hours(1)) fs::remove_all(entry.path(), none);
  }
}

}  // namespace topdnn
