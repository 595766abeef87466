#include "harness/resctrl/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <system_error>

namespace topdnn {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

// 0, or the error number, also if the descriptor is not of a regular file.
int WriteRegular(int file, const std::string& text) {
  struct stat status = {};
  if (fstat(file, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  const ssize_t length = write(file, text.data(), text.size());
  if (length < 0) return errno;
  return static_cast<std::size_t>(length) == text.size() ? 0 : EIO;
}

class DiskFiles final : public ResctrlFiles {
 public:
  explicit DiskFiles(const std::string& root) : root_(root) {}

  const std::string& root() const override { return root_; }

  FileText Read(const std::string& path) const override {
    return ReadSmallFile(Of(path), kMostBytes);
  }

  int Write(const std::string& path, const std::string& text) override {
    return WriteWith(O_TRUNC, path, text);
  }
  int Append(const std::string& path, const std::string& text) override {
    return WriteWith(O_APPEND, path, text);
  }

  int MakeFolder(const std::string& path) override {
    return mkdir(Of(path).c_str(), 0755) == 0 ? 0 : errno;
  }

  int RemoveFolder(const std::string& path) override {
    if (rmdir(Of(path).c_str()) == 0) return 0;
    if (errno != ENOTEMPTY) return errno;
    for (const char* const written : {"/schemata", "/tasks"}) unlink(Of(path + written).c_str());
    return rmdir(Of(path).c_str()) == 0 ? 0 : errno;
  }

  std::vector<std::string> Folders(const std::string& path) const override {
    std::vector<std::string> names;
    std::error_code error;
    for (auto at = std::filesystem::directory_iterator(Of(path), error);
         !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
      std::error_code unknown;
      if (at->symlink_status(unknown).type() != std::filesystem::file_type::directory) continue;
      names.push_back(at->path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string Of(const std::string& path) const {
    return path.empty() ? root_ : root_ + "/" + path;
  }

  int WriteWith(int flag, const std::string& path, const std::string& text) const {
    // O_CREAT is for plain folders: in resctrl the file exists, or the kernel refuses to create it.
    // With O_NONBLOCK, opening a named pipe does not block.
    const int file =
        open(Of(path).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | flag, 0644);
    if (file < 0) return errno;
    const int error = WriteRegular(file, text);
    close(file);
    return error;
  }

  std::string root_;
};

}  // namespace

std::unique_ptr<ResctrlFiles> OpenResctrlFiles(const std::string& root) {
  return std::make_unique<DiskFiles>(root);
}

}  // namespace topdnn
