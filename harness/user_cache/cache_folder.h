// The user's cache folder of this program ($XDG_CACHE_HOME/topdnn, by default ~/.cache/topdnn; XDG
// Base Directory Specification 0.8), which several processes may use at once. Only the owner has
// access to the folders (0700) and files (0600).

#ifndef TOPDNN_HARNESS_USER_CACHE_CACHE_FOLDER_H_
#define TOPDNN_HARNESS_USER_CACHE_CACHE_FOLDER_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace topdnn {

// The files that the program keeps there; `topdnn forget` removes these.
inline constexpr const char* kSelectionFile = "selection.json";
inline constexpr const char* kBestFile = "best.json";
inline constexpr const char* kChecksFile = "checks.json";
inline constexpr const char* kFormCostsFile = "form_costs.json";
inline constexpr const char* kTrialsFile = "trials.json";

class CacheFolder {
 public:
  // A folder with an empty path stores nothing. An update waits for others up to `longest_wait`.
  explicit CacheFolder(std::filesystem::path path,
                       std::chrono::milliseconds longest_wait = std::chrono::seconds(5))
      : path_(std::move(path)), longest_wait_(longest_wait) {}
  // The user's folder. It stores nothing if neither XDG_CACHE_HOME nor HOME is an absolute path.
  static CacheFolder OfUser();

  const std::filesystem::path& path() const { return path_; }

  // The text of a file; absent if it cannot be read or is larger than any cache (64 MiB).
  std::optional<std::string> Read(const std::string& name) const;

  // Computes the new content of a file from the current one (absent as in Read).
  using Edit = std::function<std::string(const std::optional<std::string>&)>;

  // Replaces a file's content by the result of `edit`, under a lock. Readers find the old file or
  // the new one. Returns an empty string, or one line that says why the file was not changed.
  std::string Update(const std::string& name, const Edit& edit) const;

  // Removes the files above and what interrupted updates left, then the folder if it is empty.
  // Returns the removed paths. Throws std::runtime_error, in one line, if one cannot be removed.
  std::vector<std::string> Forget() const;

 private:
  std::filesystem::path path_;
  std::chrono::milliseconds longest_wait_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_USER_CACHE_CACHE_FOLDER_H_
