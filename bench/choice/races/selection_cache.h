// The earlier choices of `auto`, in a file of the user's cache folder (selection.json;
// harness/user_cache/cache_folder.h). A file that is not such a cache is replaced, and a line on
// standard error says so.

#ifndef TOPDNN_BENCH_CHOICE_RACES_SELECTION_CACHE_H_
#define TOPDNN_BENCH_CHOICE_RACES_SELECTION_CACHE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// Everything that a choice depends on.
struct SelectionKey {
  std::string problem;  // "conv/n8c64.../forward/f32/t2"
  std::string machine;  // CPU and library versions, with what they detected

  // A problem on this machine.
  static SelectionKey Here(std::string problem);
  static SelectionKey Of(const Op& op, const Execution& execution, int threads);
  bool operator<(const SelectionKey& other) const {
    return std::tie(machine, problem) < std::tie(other.machine, other.problem);
  }
};

// The members of SelectedVariant (selection.h) that are stored.
struct RememberedSelection {
  std::string variant;  // the name of the chosen variant; empty for a network
  std::string against;
  double gain = 1;
  double error = 0;
  // For a network: the variants to request for its convolutions, by problem.
  std::map<std::string, std::vector<std::string>> layers = {};
};

class SelectionCache {
 public:
  // Uses the file at `path`; empty: nothing is read or kept.
  explicit SelectionCache(std::string path);
  // This user's cache, read once.
  static SelectionCache& OfUser();
  // The path of the file; empty if the user has no cache folder.
  static std::string UserPath();

  std::optional<RememberedSelection> Find(const SelectionKey& key) const;
  // Adds the choice in memory and in the file, keeping what other processes have added meanwhile.
  // If the file cannot be written, says so on standard error. An object prints at most one warning.
  void Add(const SelectionKey& key, const RememberedSelection& selection);

 private:
  // Adds the file's entries; returns false if the file is not a cache.
  bool Read();
  // Replaces the file by its entries and those in memory, after `change`, under the folder's lock.
  void Store(const std::function<void()>& change);
  void WarnOnce(const std::string& line);

  std::string path_;
  std::map<SelectionKey, RememberedSelection> known_;
  bool warned_ = false;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CHOICE_RACES_SELECTION_CACHE_H_
