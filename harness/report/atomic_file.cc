#include "harness/report/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace topdnn {

namespace {

[[noreturn]] void Fail(const std::string& path, int error) {
  throw ReportError(
      fmt::format("cannot write '{}': {}; name a file in a folder that exists, can be "
                  "written to and has room",
                  path, std::strerror(error)));
}

// An open file that is closed, and removed unless kept, on every way out.
class OpenFile {
 public:
  OpenFile(std::string path, int flags) : path_(std::move(path)) {
    fd_ = open(path_.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
    error_ = fd_ < 0 ? errno : 0;
    remove_ = fd_ >= 0 && (flags & O_CREAT) != 0;
  }
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
    if (remove_) unlink(path_.c_str());
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int fd() const { return fd_; }
  int error() const { return error_; }
  void Keep() { remove_ = false; }

  // Writes everything; errno, or 0.
  int Write(std::string_view content) const {
    while (!content.empty()) {
      const ssize_t written = write(fd_, content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      content.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
  }

 private:
  std::string path_;
  int fd_ = -1;
  int error_ = 0;
  bool remove_ = false;
};

// Where the content really goes.
struct Target {
  std::string path;       // with symbolic links followed
  std::string temporary;  // beside it; empty: write to the path itself, it is no regular file
  bool exists = false;
  mode_t mode = 0;  // of the existing file
};

Target TargetOf(const std::string& path) {
  Target target;
  if (path.empty()) Fail(path, ENOENT);
  struct stat status {};
  target.exists = stat(path.c_str(), &status) == 0;
  if (!target.exists && errno != ENOENT) Fail(path, errno);
  if (target.exists && S_ISDIR(status.st_mode)) Fail(path, EISDIR);
  target.path = path;
  if (target.exists && !S_ISREG(status.st_mode)) return target;
  // Only an existing file that cannot be written is an error: the rename would replace it silently.
  if (target.exists && access(path.c_str(), W_OK) != 0) Fail(path, errno);
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  if (!error) target.path = real.string();
  target.temporary = fmt::format("{}.{}.tmp", target.path, getpid());
  target.mode = status.st_mode & 07777;
  return target;
}

void FlushFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // the file itself is safe; some file systems refuse folders
  fsync(fd);
  close(fd);
}

}  // namespace

void WriteFileAtomically(const std::string& path, std::string_view content) {
  const Target target = TargetOf(path);
  if (target.temporary.empty()) {
    const OpenFile file(target.path, 0);
    if (file.error() != 0) Fail(path, file.error());
    if (const int error = file.Write(content); error != 0) Fail(path, error);
    return;
  }
  unlink(target.temporary.c_str());  // left by a killed process of the same number
  OpenFile file(target.temporary, O_CREAT | O_EXCL);
  if (file.error() != 0) Fail(path, file.error());
  if (const int error = file.Write(content); error != 0) Fail(path, error);
  if (target.exists && fchmod(file.fd(), target.mode) != 0) Fail(path, errno);
  if (fsync(file.fd()) != 0) Fail(path, errno);
  if (rename(target.temporary.c_str(), target.path.c_str()) != 0) Fail(path, errno);
  file.Keep();
  FlushFolderOf(target.path);
}

void CheckWritable(const std::string& path) {
  const Target target = TargetOf(path);
  if (target.temporary.empty()) {
    if (access(path.c_str(), W_OK) != 0) Fail(path, errno);
    return;
  }
  const OpenFile file(target.temporary, O_CREAT | O_EXCL);
  if (file.error() != 0 && file.error() != EEXIST) Fail(path, file.error());
}

}  // namespace topdnn
