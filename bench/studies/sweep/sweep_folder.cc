#include "bench/studies/sweep/sweep_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/studies/results/result_file.h"
#include "harness/files/atomic_file.h"
#include "harness/report/json.h"

namespace topdnn {

namespace {

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

SweepFolder::SweepFolder(const std::string& path, bool resume, double wait_seconds) : path_(path) {
  std::error_code error;
  std::filesystem::create_directories(path_ / "cases", error);
  if (error) {
    throw UsageError(
        fmt::format("--out {}: {}: give a folder that may be written", path, error.message()));
  }
  lock_.emplace(path_, "--out " + path, [&](double seconds) {
    if (seconds < wait_seconds && !Interrupted()) return;
    throw UsageError(
        fmt::format("--out {}: another sweep writes to this folder: wait for its end, or "
                    "give another folder",
                    path));
  });
  before_ = ReadIndex(path_, resume);
  CheckWritable(PathOf(kSweepIndex));
  CheckWritable(PathOf("cases/any"));
}

std::string SweepFolder::LogOf(const std::string& id) const {
  return PathOf("cases/" + id + ".log");
}

nlohmann::ordered_json FindProfile(const std::string& folder, const std::string& id) {
  try {
    ResultFile profile = ReadSweepCase(folder, SweepFolder::CaseFile(id));
    if (profile.json.value("partial", nlohmann::ordered_json()) == false) {
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
