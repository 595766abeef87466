// A private folder for the files of a command, for its lifetime.

#ifndef TOPDNN_BENCH_STUDIES_PROCESS_TEMPORARY_FOLDER_H_
#define TOPDNN_BENCH_STUDIES_PROCESS_TEMPORARY_FOLDER_H_

#include <filesystem>

namespace topdnn {

class TemporaryFolder {
 public:
  // In TMPDIR, or in /tmp if it is not set. Throws UsageError with the path, the reason and the
  // fix.
  TemporaryFolder();
  // Removes the folder with everything in it.
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_PROCESS_TEMPORARY_FOLDER_H_
