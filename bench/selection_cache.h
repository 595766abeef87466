// What `auto` has chosen before, in a file of the user's cache folder (selection.json;
// harness/user_cache/cache_folder.h). A file that is no such cache is started anew, with one line.

#ifndef TOPDNN_BENCH_SELECTION_CACHE_H_
#define TOPDNN_BENCH_SELECTION_CACHE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "kernels/op.h"

namespace topdnn {

// Everything that a choice depends on.
struct SelectionKey {
  std::string problem;  // "conv/n8c64.../forward/f32/t2"
  std::string machine;  // CPU and library versions, with what they detected

  static SelectionKey Of(const Op& op, const Execution& execution, int threads);
  bool operator<(const SelectionKey& other) const {
    return std::tie(machine, problem) < std::tie(other.machine, other.problem);
  }
};

struct RememberedSelection {
  std::string variant;
  std::string against;
  double gain = 1;
  double error = 0;
};

class SelectionCache {
 public:
  // Of the file at `path`; empty: nothing is read or kept.
  explicit SelectionCache(std::string path);
  // The one of this user, read once.
  static SelectionCache& OfUser();
  // Where it is; empty when the user has no cache folder.
  static std::string UserPath();

  std::optional<RememberedSelection> Find(const SelectionKey& key) const;
  // Remembers it, in the file, too, beside what another process has added meanwhile. A file that
  // cannot be written is reported once, on standard error.
  void Add(const SelectionKey& key, const RememberedSelection& selection);

 private:
  // Adds the file's entries; false when the file is no cache.
  bool Read();
  // Replaces the file by its entries and those known, after `change`, under the folder's lock.
  void Store(const std::function<void()>& change);
  void WarnOnce(const std::string& line);

  std::string path_;
  std::map<SelectionKey, RememberedSelection> known_;
  bool warned_ = false;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SELECTION_CACHE_H_
