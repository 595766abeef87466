#include "harness/user_cache/cache_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/files/small_file.h"
#include "harness/text/errors.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderName = "topdnn";
constexpr const char* kLockFile = ".lock";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::uintmax_t kMaxEntryBytes = 64U << 20;
constexpr std::chrono::milliseconds kBetweenTries(2);

[[noreturn]] void Fail(const fs::path& path, int error) {
  throw RunFailure(fmt::format("{}: {}", path.string(), std::strerror(error)));
}

// Creates the folder and its parents, accessible only to the owner. Also corrects the mode of a
// folder that an earlier version of the program created with access for others.
void MakeFolder(const fs::path& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) == 0) {
    const bool open_to_others = (status.st_mode & 077) != 0;
    if (open_to_others && folder.filename() == kFolderName && status.st_uid == geteuid()) {
      chmod(folder.c_str(), 0700);
    }
    return;
  }
  if (folder.has_parent_path() && folder.parent_path() != folder) MakeFolder(folder.parent_path());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) Fail(folder, errno);
}

class File {
 public:
  File(const fs::path& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (fd_ < 0) Fail(path, errno);
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// A lock held for the object's lifetime. Throws if another process holds it for too long.
class FolderLock {
 public:
  FolderLock(const fs::path& folder, std::chrono::milliseconds longest_wait)
      : path_(folder / kLockFile) {
    const auto deadline = std::chrono::steady_clock::now() + longest_wait;
    while (!TryOnce()) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw RunFailure(fmt::format("{}: other processes held the lock for {} ms", path_.string(),
                                     longest_wait.count()));
      }
      std::this_thread::sleep_for(kBetweenTries);
    }
  }

 private:
  bool TryOnce() {
    file_.emplace(path_, O_RDWR | O_CREAT);
    if (flock(file_->fd(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) Fail(path_, errno);
      return false;
    }
    // Forget may have removed the file between open and lock; the lock then excludes no other
    // process.
    struct stat held {};
    struct stat named {};
    return fstat(file_->fd(), &held) == 0 && stat(path_.c_str(), &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
  }

  fs::path path_;
  std::optional<File> file_;
};

void WriteAll(const File& file, const fs::path& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file.fd(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail(path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Replace(const fs::path& path, std::string_view text) {
  // One name is enough, because the folder is locked.
  const fs::path temporary = path.string() + std::string(kTemporarySuffix);
  if (unlink(temporary.c_str()) != 0 && errno != ENOENT) Fail(temporary, errno);
  try {
    const File file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    WriteAll(file, temporary, text);
    // Not flushed to the disk: a cache lost in a crash is created again.
    if (rename(temporary.c_str(), path.c_str()) != 0) Fail(path, errno);
  } catch (const std::runtime_error&) {
    unlink(temporary.c_str());
    throw;
  }
}

bool RemoveIfThere(const fs::path& path) {
  if (unlink(path.c_str()) == 0) return true;
  if (errno != ENOENT) Fail(path, errno);
  return false;
}

// A file of this program, or the rest of an interrupted update.
bool IsOwn(const std::string& name) {
  for (const std::string_view file :
       {kSelectionFile, kBestFile, kChecksFile, kFormCostsFile, kTrialsFile}) {
    if (name == file || (name.starts_with(file) && name.ends_with(kTemporarySuffix))) return true;
  }
  return false;
}

}  // namespace

CacheFolder CacheFolder::OfUser() {
  const char* const xdg = std::getenv("XDG_CACHE_HOME");
  // The specification requires that relative paths are ignored.
  if (xdg != nullptr && xdg[0] == '/') return CacheFolder(fs::path(xdg) / kFolderName);
  const char* const home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return CacheFolder({});
  return CacheFolder(fs::path(home) / ".cache" / kFolderName);
}

std::optional<std::string> CacheFolder::Read(const std::string& name) const {
  if (path_.empty()) return std::nullopt;
  FileText file = ReadSmallFile(path_ / name, kMaxEntryBytes);
  return file.error == 0 ? std::optional(std::move(file.text)) : std::nullopt;
}

std::string CacheFolder::Update(const std::string& name, const Edit& edit) const {
  if (path_.empty()) return "there is no cache folder: neither XDG_CACHE_HOME nor HOME is set";
  try {
    MakeFolder(path_);
    const FolderLock lock(path_, longest_wait_);
    Replace(path_ / name, edit(Read(name)));
  } catch (const std::exception& failure) {
    return failure.what();
  }
  return {};
}

std::vector<std::string> CacheFolder::Forget() const {
  std::vector<std::string> removed;
  std::error_code error;
  if (path_.empty() || !fs::is_directory(path_, error)) return removed;
  {
    const FolderLock lock(path_, longest_wait_);
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      if (!IsOwn(entry.path().filename().string())) continue;
      if (RemoveIfThere(entry.path())) removed.push_back(entry.path().string());
    }
    RemoveIfThere(path_ / kLockFile);
  }
  // Fails if the folder is not empty.
  if (rmdir(path_.c_str()) == 0) removed.push_back(path_.string());
  return removed;
}

}  // namespace topdnn
