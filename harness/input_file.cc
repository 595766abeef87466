#include "harness/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace topdnn {

namespace {

constexpr std::size_t kChunk = 65536;

bool IsOfShell(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

class OpenInput {
 public:
  // Without O_NONBLOCK a pipe without a writer would block the open.
  explicit OpenInput(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)), error_(errno) {}
  ~OpenInput() {
    if (fd_ >= 0) close(fd_);
  }
  OpenInput(const OpenInput&) = delete;
  OpenInput& operator=(const OpenInput&) = delete;
  int fd() const { return fd_; }
  int error() const { return error_; }

 private:
  int fd_;
  int error_;
};

// Returns the number of bytes read, 0 at the end, or -errno. Waits while a pipe has a writer.
ssize_t ReadSome(int fd, std::array<char, kChunk>& buffer) {
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got >= 0) return got;
    if (errno == EAGAIN) {
      pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return -errno;
    }
  }
}

using Refuse = std::function<void(const std::string& why)>;

// `check` returns why an open file is refused, or nothing.
void ReadPieces(const std::string& path,
                const std::function<std::string(const struct stat& status)>& check,
                const Refuse& refuse, const std::function<void(std::string_view piece)>& consume) {
  // `refuse` throws. If it returned, nothing would be read.
  const auto fail = [&refuse](const std::string& why) {
    refuse(why);
    throw std::logic_error(why);
  };
  const OpenInput input(path);
  if (input.fd() < 0) {
    fail(fmt::format("cannot be read ({}); check the name", std::strerror(input.error())));
  }
  struct stat status {};
  if (fstat(input.fd(), &status) != 0) fail(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail("is a folder; give the path of a file");
  if (!S_ISREG(status.st_mode) && !IsOfShell(path)) {
    fail(S_ISFIFO(status.st_mode)
             ? "is a named pipe; give a file, /dev/stdin, or <(COMMAND) of the shell"
             : "is a device, not a file; give the path of a file");
  }
  if (const std::string why = check(status); !why.empty()) fail(why);
  std::array<char, kChunk> buffer;
  for (;;) {
    const ssize_t got = ReadSome(input.fd(), buffer);
    if (got < 0) {
      fail(fmt::format("cannot be read ({}); check the disk",
                       std::strerror(static_cast<int>(-got))));
    }
    if (got == 0) return;
    consume({buffer.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace

void ReadInputPieces(const std::string& path,
                     const std::function<void(const std::string& why)>& refuse,
                     const std::function<void(std::string_view piece)>& consume) {
  ReadPieces(
      path, [](const struct stat&) { return std::string(); }, refuse, consume);
}

std::string ReadInputFile(const std::string& path, const InputFile& file,
                          const std::function<void(const std::string& why)>& refuse) {
  const std::string too_large = fmt::format("over {} MiB; {}", file.most_bytes >> 20, file.smaller);
  std::string text;
  const auto check = [&](const struct stat& status) {
    if (!S_ISREG(status.st_mode)) return std::string();
    const auto bytes = static_cast<std::size_t>(status.st_size);
    if (file.most_bytes != 0 && bytes > file.most_bytes) return std::string(too_large);
    text.reserve(bytes);
    return std::string();
  };
  ReadPieces(path, check, refuse, [&](std::string_view piece) {
    text.append(piece);
    if (file.most_bytes != 0 && text.size() > file.most_bytes) {
      refuse(too_large);
      throw std::logic_error(too_large);
    }
  });
  return text;
}

}  // namespace topdnn
