#include "bench/studies/sweep_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "bench/command_line/command.h"
#include "bench/studies/result_file.h"
#include "harness/report/atomic_file.h"
#include "harness/report/json.h"

namespace topdnn {

namespace {

// Returns the descriptor that holds the lock until it is closed.
int Lock(const std::filesystem::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    throw UsageError(fmt::format("--out {}: {}: give a folder that may be written", folder.string(),
                                 std::generic_category().message(errno)));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  close(fd);
  throw UsageError(fmt::format(
      "--out {}: another sweep writes to this folder: wait for its end, or give another folder",
      folder.string()));
}

nlohmann::ordered_json ReadIndex(const std::filesystem::path& folder, bool resume) {
  std::error_code none;
  if (!std::filesystem::exists(folder / kSweepIndex, none)) return nullptr;
  if (!resume) {
    throw UsageError(
        fmt::format("--out {}: has a sweep: add --resume to continue it, or give another folder",
                    folder.string()));
  }
  ResultFile index = ReadResult(folder.string());
  if (index.kind != ResultKind::kSweep || !index.json.at("cases").is_array()) {
    throw UsageError(fmt::format("{}: is not the index of a sweep: give another --out",
                                 (folder / kSweepIndex).string()));
  }
  return std::move(index.json);
}

}  // namespace

SweepFolder::SweepFolder(const std::string& path, bool resume) : path_(path) {
  std::error_code error;
  std::filesystem::create_directories(path_ / "cases", error);
  if (error) {
    throw UsageError(
        fmt::format("--out {}: {}: give a folder that may be written", path, error.message()));
  }
  lock_ = Lock(path_);
  try {
    before_ = ReadIndex(path_, resume);
    CheckWritable(PathOf(kSweepIndex));
    CheckWritable(PathOf("cases/any"));
  } catch (...) {
    close(lock_);
    throw;
  }
}

SweepFolder::~SweepFolder() { close(lock_); }

std::string SweepFolder::LogOf(const std::string& id) const {
  return PathOf("cases/" + id + ".log");
}

nlohmann::ordered_json SweepFolder::FindProfile(const std::string& id) const {
  try {
    ResultFile profile = ReadSweepCase(path_.string(), CaseFile(id));
    if (profile.kind == ResultKind::kProfile && !profile.json.value("partial", true)) {
      return std::move(profile.json);
    }
  } catch (const UsageError&) {  // there is none, or it is damaged: the case runs again
  }
  return nullptr;
}

void SweepFolder::Write(const nlohmann::ordered_json& index) const {
  WriteFileAtomically(PathOf(kSweepIndex), JsonText(index));
}

}  // namespace topdnn
