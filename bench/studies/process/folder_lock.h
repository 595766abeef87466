// Lets one process at a time write to a folder.

#ifndef TOPDNN_BENCH_STUDIES_PROCESS_FOLDER_LOCK_H_
#define TOPDNN_BENCH_STUDIES_PROCESS_FOLDER_LOCK_H_

#include <filesystem>
#include <functional>

namespace topdnn {

// The file of a locked folder. It stays there.
inline constexpr const char* kFolderLock = ".lock";

// Held until its end. The lock is flock's, of a regular file that is open for writing: Linux passes
// no other flock on to an NFS server.
class FolderLock {
 public:
  // Locks an existing folder. If another process holds the lock, `refuse` is called with the
  // seconds that have passed: it throws, or returns to wait on. Throws UsageError, which names the
  // folder as `name`, if the file cannot be made or locked.
  FolderLock(const std::filesystem::path& folder, const std::string& name,
             const std::function<void(double seconds)>& refuse);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_PROCESS_FOLDER_LOCK_H_
