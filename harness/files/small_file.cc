#include "harness/files/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace topdnn {

namespace {

// 0, or the errno that says why the descriptor is not of a regular file.
int Check(int file) {
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0) return errno;
  return S_ISREG(status.st_mode) ? 0 : EINVAL;
}

}  // namespace

FileText ReadSmallFile(const std::filesystem::path& path, std::size_t most_bytes) {
  // With O_NONBLOCK, opening a named pipe does not block.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  FileText result;
  result.error = Check(file);
  std::array<char, 4096> block = {};
  bool end = false;
  while (result.error == 0 && !end) {
    const ssize_t length = read(file, block.data(), block.size());
    if (length < 0) {
      if (errno != EINTR) result.error = errno;
      continue;
    }
    result.text.append(block.data(), static_cast<std::size_t>(length));
    if (result.text.size() > most_bytes) result.error = EFBIG;
    end = length == 0;
  }
  if (file >= 0) close(file);
  if (result.error != 0) result.text.clear();
  return result;
}

}  // namespace topdnn
