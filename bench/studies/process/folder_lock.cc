#include "bench/studies/process/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "bench/command_line/command.h"

namespace topdnn {

FolderLock::FolderLock(const std::filesystem::path& folder, const std::string& name,
                       const std::function<void(double seconds)>& refuse)
    : fd_(open((folder / kFolderLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  // (another user's: the folder may be writable all the same)
  if (fd_ < 0 && errno == EACCES) fd_ = open((folder / kFolderLock).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    throw UsageError(fmt::format("{}: {}: give a folder that may be written", name,
                                 std::generic_category().message(errno)));
  }
  const auto begin = std::chrono::steady_clock::now();
  try {
    while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        throw UsageError(
            fmt::format("{}: cannot be locked: {}: give a folder on another file system", name,
                        std::generic_category().message(errno)));
      }
      refuse(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  } catch (...) {
    close(fd_);
    throw;
  }
}

FolderLock::~FolderLock() { close(fd_); }

}  // namespace topdnn
