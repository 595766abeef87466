// The folder of a sweep:
//
//   sweep.json      the index: one row per finished case, and what the sweep consists of
//   cases/ID.json   the profile of a case
//   cases/ID.log    what its process printed
//   .lock           the sweep that writes to the folder locks it
//
// The index is written after each case, completely or not at all; if there are thousands of short
// cases, not after each, so that writing takes a twentieth of the time at most. A profile whose row
// is missing, because the sweep was killed before it was written, is found again.

#ifndef TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_FOLDER_H_
#define TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_FOLDER_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/studies/process/folder_lock.h"

namespace topdnn {

class SweepFolder {
 public:
  // Makes the folder, or opens one with `resume`. Throws UsageError for a folder with a sweep
  // without `resume`, for a damaged index, and if another sweep writes to the folder for longer
  // than `wait_seconds`.
  SweepFolder(const std::string& path, bool resume, double wait_seconds = 0);

  // The index as it was when the folder was opened; null for a new sweep.
  const nlohmann::ordered_json& before() const { return before_; }

  // "cases/ID.json", relative to the folder.
  static std::string CaseFile(const std::string& id) { return "cases/" + id + ".json"; }
  std::string PathOf(const std::string& file) const { return (path_ / file).string(); }
  // The path of the case's log.
  std::string LogOf(const std::string& id) const;

  void Write(const nlohmann::ordered_json& index) const;

 private:
  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
  nlohmann::ordered_json before_;
};

// The finished profile of a case in a sweep's folder; null if there is none, or only a part of one.
nlohmann::ordered_json FindProfile(const std::string& folder, const std::string& id);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_FOLDER_H_
