#include "bench/studies/results/result_index.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/studies/results/result_file.h"
#include "harness/files/atomic_file.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kIndexVersion = 2;

// The state of a run's file when it was read.
using FileState = std::pair<std::int64_t, std::int64_t>;  // bytes, time of change in ns

FileState StateOf(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {-1, -1};
  constexpr std::int64_t kBillion = 1000000000;
  return {status.st_size, status.st_mtim.tv_sec * kBillion + status.st_mtim.tv_nsec};
}

void CreateTables(Database& database) {
  database.Run(
      "CREATE TABLE results (id TEXT PRIMARY KEY, stored_at TEXT, kind TEXT, network TEXT, "
      "mode TEXT, batch INTEGER, dtype TEXT, backend TEXT, threads INTEGER, step_seconds REAL, "
      "status TEXT, problem TEXT, bytes INTEGER, changed INTEGER, machine TEXT)");
  database.Run(
      "CREATE TABLE stages (result_id TEXT, name TEXT, pass TEXT, op TEXT, implementation TEXT, "
      "status TEXT, seconds REAL, gflops REAL, peak_fraction REAL)");
  database.Run("CREATE INDEX stages_of_result ON stages (result_id)");
  database.Run(fmt::format("PRAGMA user_version = {}", kIndexVersion));
}

// A member as a value of the database; NULL if it is absent or structured.
DatabaseValue ValueAt(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (found == json.end()) return nullptr;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_integer()) return found->get<std::int64_t>();
  if (found->is_number()) return found->get<double>();
  return nullptr;
}

DatabaseValue MedianOf(const Json& json) {
  const auto found = json.is_object() ? json.find("seconds") : json.end();
  return found == json.end() ? DatabaseValue(nullptr) : ValueAt(*found, "median");
}

void AddStages(const Json& stages, const std::string& id, Database& database) {
  for (const Json& stage : stages) {
    database.Run("INSERT INTO stages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 {id, ValueAt(stage, "name"), ValueAt(stage, "pass"), ValueAt(stage, "op"),
                  ValueAt(stage, "implementation"), ValueAt(stage, "status"), MedianOf(stage),
                  ValueAt(stage, "gflops"), ValueAt(stage, "peak_fraction")});
  }
}

// "20261122T221829-..." as "2026-11-22T22:18:29Z".
std::string TimeOf(const std::string& id) {
  if (id.size() < 15) return "";
  return fmt::format("{}-{}-{}T{}:{}:{}Z", id.substr(0, 4), id.substr(4, 2), id.substr(6, 2),
                     id.substr(9, 2), id.substr(11, 2), id.substr(13, 2));
}

void Remove(const std::string& id, Database& database) {
  database.Run("DELETE FROM results WHERE id = ?", {id});
  database.Run("DELETE FROM stages WHERE result_id = ?", {id});
}

// Reads the run's file into the tables; a file that cannot be read leaves a row with the problem.
void Insert(const ResultStore& store, const std::string& id, const FileState& state,
            Database& database) {
  const std::string sql =
      "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  Json json;
  DatabaseRow row = {id, TimeOf(id)};
  std::string machine;
  try {
    machine = store.MachineOf(id);
    ResultFile result = ReadResult(store.ResultPath(id).string());
    json = std::move(result.json);
    row.emplace_back(NameOf(result.kind));
  } catch (const UsageError& error) {
    row.insert(row.end(), {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                           "DAMAGED", error.what(), state.first, state.second, nullptr});
    database.Run(sql, row);
    return;
  }
  for (const char* key : {"network", "mode", "batch", "dtype", "backend", "threads"}) {
    row.push_back(ValueAt(json, key));
  }
  const Json step = json.value("step", Json());
  row.insert(row.end(),
             {MedianOf(step), ValueAt(step, "status"), nullptr, state.first, state.second});
  row.push_back(machine.empty() ? DatabaseValue(nullptr) : DatabaseValue(machine));
  database.Run(sql, row);
  const auto stages = json.find("stages");
  if (stages != json.end() && stages->is_array()) AddStages(*stages, id, database);
}

// Brings the tables up to date with the files.
void Update(const ResultStore& store, Database& database) {
  std::map<std::string, FileState> known;
  for (const DatabaseRow& row : database.Run("SELECT id, bytes, changed FROM results").rows) {
    known[std::get<std::string>(row[0])] = {std::get<std::int64_t>(row[1]),
                                            std::get<std::int64_t>(row[2])};
  }
  std::map<std::string, FileState> present;
  for (const std::string& id : store.Ids()) present[id] = StateOf(store.ResultPath(id));
  if (known == present) return;
  database.Run("BEGIN IMMEDIATE");
  for (const auto& [id, state] : known) {
    const auto own = present.find(id);
    if (own == present.end() || own->second != state) Remove(id, database);
  }
  for (const auto& [id, state] : present) {
    const auto own = known.find(id);
    if (own != known.end() && own->second == state) continue;
    Remove(id, database);  // (another process may have added it since)
    Insert(store, id, state, database);
  }
  database.Run("COMMIT");
}

std::int64_t VersionOf(Database& database) {
  return std::get<std::int64_t>(database.Run("PRAGMA user_version").rows.at(0).at(0));
}

Database InMemory(const ResultStore& store) {
  Database database(":memory:", Database::Access::kReadWrite);
  CreateTables(database);
  Update(store, database);
  return database;
}

// Opens the file, and brings it up to date. Throws DatabaseError.
Database OpenFile(const ResultStore& store) {
  const bool fresh = !fs::exists(store.IndexPath());
  if (fresh) ResultIndex::Rebuild(store);
  Database database(store.IndexPath().string(), Database::Access::kReadWrite);
  if (VersionOf(database) != kIndexVersion) throw DatabaseError("it has another version");
  const DatabaseTable check = database.Run("PRAGMA quick_check(1)");
  if (check.rows.at(0).at(0) != DatabaseValue(std::string("ok")))
    throw DatabaseError("it is damaged");
  Update(store, database);
  return database;
}

Database OpenOrReplace(const ResultStore& store, std::string& notice) {
  std::string why;
  try {
    return OpenFile(store);
  } catch (const DatabaseError& error) {
    why = error.what();
  } catch (const WriteError& error) {
    why = error.what();
  }
  // Another process that holds the index, or a full or read-only disk, does not damage it.
  const bool busy = why.find("locked") != std::string::npos;
  if (!busy && access(store.IndexPath().parent_path().c_str(), W_OK) == 0) {
    try {
      ResultIndex::Rebuild(store);
      notice = fmt::format("{}: {}: made again from the results", store.IndexPath().string(), why);
      return Database(store.IndexPath().string(), Database::Access::kReadWrite);
    } catch (const std::runtime_error& error) {
      why = error.what();
    }
  }
  notice = fmt::format("{}: {}: not used; the results are read from their files",
                       store.IndexPath().string(), why);
  return InMemory(store);
}

}  // namespace

ResultIndex::ResultIndex(const ResultStore& store) : database_(OpenOrReplace(store, notice_)) {
  database_.AllowOnlyReading();
}

void ResultIndex::Rebuild(const ResultStore& store) {
  const std::string path = store.IndexPath().string();
  std::string temporary = path + "-XXXXXX";
  const int file = mkstemp(temporary.data());
  if (file < 0) {
    throw WriteError(fmt::format("cannot write '{}': {}; the results are intact", path,
                                 std::generic_category().message(errno)));
  }
  close(file);
  std::error_code ignored;
  try {
    {
      Database database(temporary, Database::Access::kReadWrite);
      CreateTables(database);
      Update(store, database);
    }
    chmod(temporary.c_str(), 0644);
    // The journal of a damaged index must not be applied to the new one.
    fs::remove(path + "-journal", ignored);
    fs::rename(temporary, path);
  } catch (const std::exception& error) {
    fs::remove(temporary, ignored);
    fs::remove(temporary + "-journal", ignored);
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    throw WriteError(fmt::format("cannot write '{}': {}; the results are intact", path,
                                 no_memory ? "out of memory" : error.what()));
  }
}

DatabaseTable ResultIndex::List() {
  return database_.Run(
      "SELECT id, stored_at, kind, network, mode, batch, dtype, threads, step_seconds, status, "
      "problem FROM results ORDER BY id");
}

DatabaseTable ResultIndex::Query(const std::string& sql) {
  try {
    return database_.Run(sql);
  } catch (const DatabaseError& error) {
    const std::string why = error.what();
    const bool denied = why.find("authoriz") != std::string::npos;
    throw UsageError(fmt::format("query: {}: {}", why,
                                 denied ? "only SELECT is possible"
                                        : "the tables are results and stages "
                                          "(`SELECT * FROM results`)"));
  }
}

}  // namespace topdnn
