// The user's results in a folder: one directory a run, with its JSON. These files are the truth;
// the index beside them (result_index.h) can be made from them again.
//
//   STORE/topdnn-store.json           {"topdnn_store": 1}: the folder is a store of version 1
//   STORE/runs/ID/result.json         the result, as the command wrote it
//   STORE/runs/ID/stored.json         {"schema": 1, "id", "stored_at", "source"}, and "machine" if
//                                     it came from a cluster
//   STORE/index.sqlite                the index
//
// A run is written to a directory with another name, which is renamed when it is complete. So a
// reader finds all of a run or nothing, and writers do not wait for each other.

#ifndef TOPDNN_BENCH_STUDIES_RESULTS_RESULT_STORE_H_
#define TOPDNN_BENCH_STUDIES_RESULTS_RESULT_STORE_H_

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace topdnn {

class ResultStore {
 public:
  // An existing store. Throws UsageError if the folder is not a store of this version.
  static ResultStore Open(const std::filesystem::path& folder);
  // The same; makes a store of a folder that does not exist or is empty.
  static ResultStore OpenOrMake(const std::filesystem::path& folder);
  // $XDG_DATA_HOME/topdnn, by default ~/.local/share/topdnn. Throws UsageError if neither
  // XDG_DATA_HOME nor HOME is an absolute path.
  static std::filesystem::path FolderOfUser();

  // Stores a result: a JSON file, or each case of a sweep's folder. Returns the IDs. Throws
  // UsageError for a file that is no result, and InputError if the store cannot be written.
  std::vector<std::string> Add(const std::string& path) const;
  // Stores a result of a machine under this ID, unless the store has a run of that ID. Returns
  // whether it was stored. Throws as Add.
  bool AddOnce(const std::string& path, const std::string& id, const std::string& machine) const;

  // The IDs of all runs, oldest first.
  std::vector<std::string> Ids() const;
  // The run of an ID, or of the only ID that begins with it. Throws UsageError.
  std::string Find(const std::string& id) const;
  // The text of a run's result. Throws UsageError if it cannot be read.
  std::string Read(const std::string& id) const;

  std::filesystem::path ResultPath(const std::string& id) const;
  // The machine of a run from a cluster; otherwise empty.
  std::string MachineOf(const std::string& id) const;
  std::filesystem::path IndexPath() const { return folder_ / "index.sqlite"; }
  // Removes the unfinished runs of writers that were killed more than an hour ago.
  void RemoveLeftovers() const;

 private:
  explicit ResultStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::string AddText(const std::string& text, const std::string& source) const;
  void WriteRun(const std::string& text, nlohmann::ordered_json stored) const;

  std::filesystem::path folder_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_RESULTS_RESULT_STORE_H_
