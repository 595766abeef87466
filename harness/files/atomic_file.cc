#include "harness/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <random>

#include "harness/text/errors.h"

namespace topdnn {

namespace {

constexpr int kMaxLinks = 40;  // the kernel's limit (path_resolution(7))
constexpr int kMaxTries = 16;  // of random names

[[noreturn]] void Refuse(const std::string& path, std::string_view why, std::string_view fix) {
  throw InputError(fmt::format("cannot write '{}': {}; {}", path, why, fix));
}

[[noreturn]] void Refuse(const std::string& path, int error) {
  Refuse(path, std::strerror(error),
         "name a file in a folder that exists, can be written to and has room");
}

// Throws for an error of the disk or the kernel, after the name was accepted.
[[noreturn]] void Fail(const std::string& path, int error) {
  const char* fix = "look at the disk (dmesg, df), or name a file on another one";
  if (error == ENOSPC || error == EDQUOT) fix = "free some space, or name a file on another disk";
  if (error == EFBIG) fix = "raise the limit of file sizes (ulimit -f unlimited)";
  if (error == EPIPE) fix = "keep its reader running";
  throw WriteError(fmt::format("cannot write '{}': {} (an input/output error); {}", path,
                               std::strerror(error), fix));
}

// Writes everything. Returns an errno, or 0.
int WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// The file that a name leads to through symbolic links. It may not exist.
std::string RealName(const std::string& path) {
  std::filesystem::path real = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(real, error);
    if (error) return real.string();
    real = next.is_absolute() ? next : real.parent_path() / next;
  }
  Refuse(path, ELOOP);
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

void FlushFolderOf(const std::string& path) {
  const int fd = open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // the file itself is safe; some file systems refuse folders
  fsync(fd);
  close(fd);
}

// The names of the temporary files that exist, for a signal handler: fixed memory. A file beyond
// them is not removed by it.
struct TemporaryName {
  std::atomic<pid_t> owner = 0;  // 0: free; a forked process removes no file of its parent
  std::array<char, PATH_MAX> path;
};
std::array<TemporaryName, 16> temporary_names;

void Remember(const std::string& path) {
  if (path.size() >= PATH_MAX) return;
  for (TemporaryName& name : temporary_names) {
    pid_t nobody = 0;
    if (!name.owner.compare_exchange_strong(nobody, -1)) continue;
    std::memcpy(name.path.data(), path.c_str(), path.size() + 1);
    name.owner = getpid();
    return;
  }
}

void Forget(const std::string& path) {
  for (TemporaryName& name : temporary_names) {
    if (name.owner == getpid() && path == name.path.data()) name.owner = 0;
  }
}

// Opens a file with a new random name in the folder and sets `name`. Returns the descriptor, or -1
// and sets errno.
int OpenTemporary(const std::string& folder, mode_t mode, std::string& name) {
  std::random_device random;
  for (int i = 0; i < kMaxTries; ++i) {
    name = fmt::format("{}/.topdnn-{:08x}", folder, random());
    Remember(name);  // (before it exists, so that no signal comes between)
    const int fd = open(name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, mode);
    if (fd >= 0) return fd;
    const int error = errno;
    Forget(name);
    errno = error;
    if (error != EEXIST) return fd;
  }
  return -1;
}

// The status of a path; absent: there is no such file.
std::optional<struct stat> Look(const std::string& path) {
  if (path.empty()) Refuse(path, ENOENT);
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT) Refuse(path, errno);
  return std::nullopt;
}

// Whether it is a device or a pipe, which is written to directly.
bool IsStream(const std::optional<struct stat>& status) {
  return status && !S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode);
}

// Opens a device or a pipe. Opening a pipe without a reader would block forever.
int OpenStream(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && errno == ENXIO) {
    Refuse(path, "it is a pipe without a reader", "start its reader first, or name a file");
  }
  if (fd < 0) Refuse(path, errno);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

void WriteToStream(const std::string& path, std::string_view content) {
  const int fd = OpenStream(path);
  const int error = WriteAll(fd, content);
  close(fd);
  if (error != 0) Fail(path, error);
}

void WriteToStandardOutput(std::string_view content) {
  const bool whole = std::fwrite(content.data(), 1, content.size(), stdout) == content.size();
  if (!whole || std::fflush(stdout) != 0) Fail("standard output", errno);
}

// Whether two names lead to one file: by device and inode, or by name if there is no file yet.
bool AreOneFile(const std::string& a, const std::string& b) {
  struct stat of_a {};
  struct stat of_b {};
  const bool a_exists = stat(a.c_str(), &of_a) == 0;
  const bool b_exists = stat(b.c_str(), &of_b) == 0;
  if (a_exists != b_exists) return false;
  if (a_exists) {
    const bool regular = S_ISREG(of_a.st_mode) && S_ISREG(of_b.st_mode);
    return regular && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  }
  const auto full = [](const std::string& name) {
    std::error_code none;  // (a name in a folder that does not exist is kept)
    return std::filesystem::weakly_canonical(std::filesystem::absolute(RealName(name), none), none);
  };
  return full(a) == full(b);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  const auto status = Look(path);
  if (status && S_ISDIR(status->st_mode)) Refuse(path, EISDIR);
  if (IsStream(status)) Refuse(path, "it is not a regular file", "give another path");
  exists_ = status.has_value();
  if (exists_) {
    // The rename would replace a read-only file without an error. (The superuser may write to
    // everything.)
    constexpr mode_t kAnyWrites = S_IWUSR | S_IWGRP | S_IWOTH;
    if ((status->st_mode & kAnyWrites) == 0 || access(path.c_str(), W_OK) != 0) {
      Refuse(path, "it exists and is read-only", "make it writable (chmod u+w), or name another");
    }
    mode_ = status->st_mode & 07777;
    owner_ = status->st_uid;
    group_ = status->st_gid;
  }
  real_ = RealName(path);
  // (the new content of a private file is never readable by others)
  fd_ = OpenTemporary(FolderOf(real_), exists_ ? 0600 : 0666, temporary_);
  if (fd_ >= 0) return;
  const int error = errno;
  temporary_.clear();
  for (const int of_system : {ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM}) {
    if (error == of_system) Fail(path, error);
  }
  Refuse(path, error);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  Forget(temporary_);
}

RemovedFile::RemovedFile(std::string path) : path_(std::move(path)) { Remember(path_); }

RemovedFile::~RemovedFile() {
  unlink(path_.c_str());
  Forget(path_);
}

void RemoveTemporaryFiles() noexcept {
  for (const TemporaryName& name : temporary_names) {
    if (name.owner == getpid()) unlink(name.path.data());
  }
}

void AtomicFile::Write(std::string_view content) {
  if (const int error = WriteAll(fd_, content); error != 0) Fail(path_, error);
}

void AtomicFile::Publish() {
  // Opens the file again by its name, because a library may have replaced it.
  close(fd_);
  fd_ = open(temporary_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd_ < 0) Fail(path_, errno);
  if (exists_) {
    // (if the kernel refuses, a file of another owner becomes this user's)
    if (fchown(fd_, owner_, group_) != 0) errno = 0;
    if (fchmod(fd_, mode_) != 0) Fail(path_, errno);
  }
  if (fsync(fd_) != 0) Fail(path_, errno);
  if (rename(temporary_.c_str(), real_.c_str()) != 0) Fail(path_, errno);
  Forget(temporary_);
  temporary_.clear();
  FlushFolderOf(real_);
}

void WriteFileAtomically(const std::string& path, std::string_view content) {
  if (path == kStandardOutput) return WriteToStandardOutput(content);
  if (IsStream(Look(path))) return WriteToStream(path, content);
  AtomicFile file(path);
  file.Write(content);
  file.Publish();
}

void Outputs::Write(const std::string& path, const std::function<void()>& write) {
  if (path.empty()) return;
  try {
    write();
  } catch (const RunFailure& error) {
    failures_.emplace_back(error.what());
  } catch (const InputError& error) {  // (the name was valid before the run)
    failures_.emplace_back(error.what());
  } catch (const std::bad_alloc&) {
    failures_.push_back(fmt::format("cannot write '{}': out of memory; free some", path));
  }
}

void Outputs::Finish() const {
  if (failures_.empty()) return;
  const std::size_t others = failures_.size() - 1;
  throw WriteError(failures_.front() +
                   (others == 0 ? "" : fmt::format(" ({} more not written)", others)));
}

void CheckWritable(const std::string& path) {
  if (path == kStandardOutput) return;
  const auto status = Look(path);
  if (!IsStream(status)) {
    const std::size_t longest = 255;  // NAME_MAX of Linux's file systems
    if (std::filesystem::path(RealName(path)).filename().string().size() > longest) {
      Refuse(path, ENAMETOOLONG);
    }
    const AtomicFile file(path);
    return;
  }
  const int fd = OpenStream(path);
  // Closing a pipe would end its reader before anything is written, so it stays open.
  if (!S_ISFIFO(status->st_mode)) close(fd);
}

void CheckOutputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  std::vector<std::string> before;
  for (const std::string& output : outputs) {
    if (output.empty()) continue;
    CheckWritable(output);
    for (const std::string& input : inputs) {
      if (!input.empty() && AreOneFile(output, input)) {
        Refuse(output, "it is also the input", "name another file");
      }
    }
    for (const std::string& other : before) {
      if ((output == kStandardOutput && other == output) || AreOneFile(output, other)) {
        Refuse(output, "two outputs have this name", "give each a separate file");
      }
    }
    before.push_back(output);
  }
}

}  // namespace topdnn
