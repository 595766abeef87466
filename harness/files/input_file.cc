#include "harness/files/input_file.h"

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

// `refuse` throws. If it returned, nothing would be read.
void Fail(const RefuseInput& refuse, const std::string& why) {
  refuse(why);
  throw std::logic_error(why);
}

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

void ReadPieces(const OpenInputFile& input, const RefuseInput& refuse,
                const std::function<void(std::string_view piece)>& consume) {
  std::array<char, kChunk> buffer;
  for (;;) {
    const ssize_t got = ReadSome(input.fd(), buffer);
    if (got < 0) {
      Fail(refuse, fmt::format("cannot be read ({}); check the disk",
                               std::strerror(static_cast<int>(-got))));
    }
    if (got == 0) return;
    consume({buffer.data(), static_cast<std::size_t>(got)});
  }
}

// Why a file of this status is refused, or nothing.
std::string WhyNotRead(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return "is a folder; give the path of a file";
  if (S_ISREG(status.st_mode) || IsOfShell(path)) return "";
  return S_ISFIFO(status.st_mode)
             ? "is a named pipe; give a file, /dev/stdin, or <(COMMAND) of the shell"
             : "is a device, not a file; give the path of a file";
}

}  // namespace

// Without O_NONBLOCK a pipe without a writer would block the open.
OpenInputFile::OpenInputFile(const std::string& path, const RefuseInput& refuse)
    : fd_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
  if (fd_ < 0) {
    Fail(refuse, fmt::format("cannot be read ({}); check the name", std::strerror(errno)));
  }
  struct stat status {};
  std::string why = fstat(fd_, &status) == 0 ? WhyNotRead(path, status) : std::strerror(errno);
  if (!why.empty()) {
    close(fd_);
    Fail(refuse, why);
  }
  if (S_ISREG(status.st_mode)) bytes_ = static_cast<std::size_t>(status.st_size);
}

OpenInputFile::~OpenInputFile() { close(fd_); }

void ReadInputPieces(const std::string& path, const RefuseInput& refuse,
                     const std::function<void(std::string_view piece)>& consume) {
  ReadPieces(OpenInputFile(path, refuse), refuse, consume);
}

std::string ReadInputFile(const std::string& path, const InputFile& file,
                          const RefuseInput& refuse) {
  const OpenInputFile input(path, refuse);
  std::string text;
  const auto check = [&](std::size_t bytes) {
    if (file.most_bytes == 0 || bytes <= file.most_bytes) return;
    Fail(refuse, fmt::format("over {} MiB; {}", file.most_bytes >> 20, file.smaller));
  };
  check(input.bytes().value_or(0));
  text.reserve(input.bytes().value_or(0));
  ReadPieces(input, refuse, [&](std::string_view piece) {
    text.append(piece);
    check(text.size());
  });
  return text;
}

}  // namespace topdnn
