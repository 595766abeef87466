#include "datasets/bytes.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "datasets/dataset.h"

namespace topdnn {

namespace {

void CheckMagic(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw DatasetError(
        fmt::format("{}: {}; give its folder with --data", path.string(), std::strerror(errno)));
  }
  std::array<char, 2> magic = {};
  file.read(magic.data(), magic.size());
  const bool gzip = magic[0] == '\x1f' && magic[1] == '\x8b';
  if (path.extension() == ".gz" && !gzip) {
    throw DatasetError(fmt::format(
        "{}: offset 0: not gzip, but named .gz; rename it, or download it again", path.string()));
  }
}

// An estimate of the decompressed bytes: few images shrink to less than a fifth in gzip, and
// MNIST's shrink to 21 %. A damaged head may claim any length, so the memory that is reserved
// depends on the file's own length, too.
std::size_t LikelyBytes(const std::filesystem::path& path) {
  constexpr std::size_t kRatio = 5;
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(path, none);
  return none ? 0 : static_cast<std::size_t>(bytes) * kRatio;
}

}  // namespace

std::vector<unsigned char> ReadFile(const std::filesystem::path& path, const LengthOf& length_of) {
  std::error_code none;  // CheckMagic reports the reason when it cannot open the file
  if (std::filesystem::is_directory(path, none)) {
    throw DatasetError(
        fmt::format("{}: is a folder, not a file; remove it, or give another folder with --data",
                    path.string()));
  }
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none)) {
    // (opening a pipe that nobody writes to would never end)
    throw DatasetError(fmt::format(
        "{}: is a pipe or a device, not a file; move it away, or give another folder with --data",
        path.string()));
  }
  CheckMagic(path);
  // zlib passes data through unchanged when it is not gzip.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) {
    throw DatasetError(
        fmt::format("{}: cannot be opened; give another folder with --data", path.string()));
  }
  constexpr unsigned kInputBytes = 1U << 17;
  gzbuffer(file.get(), kInputBytes);
  std::vector<unsigned char> bytes;
  std::vector<unsigned char> chunk(kHeadBytes);
  std::optional<std::size_t> most;
  for (;;) {
    errno = 0;
    const int got = gzread(file.get(), chunk.data(), static_cast<unsigned>(chunk.size()));
    if (got < 0 && errno == EINTR) {
      // zlib loses what it had unpacked in this call, so the file is read again.
      gzclearerr(file.get());
      if (gzrewind(file.get()) != 0) break;
      bytes.clear();
      continue;
    }
    if (got <= 0) break;
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + got);
    if (!most) {
      most = length_of(bytes);
      bytes.reserve(std::min(*most, LikelyBytes(path)));
    }
    if (bytes.size() > *most) {
      throw DatasetError(
          fmt::format("{}: offset {}: too long, the data should end there; download it again",
                      path.string(), *most));
    }
  }
  // gzerror reports a damaged or truncated stream; gzread alone may not.
  int code = Z_OK;
  std::string message = gzerror(file.get(), &code);
  const std::string prefix = path.string() + ": ";
  if (message.starts_with(prefix)) message.erase(0, prefix.size());
  if (code == Z_ERRNO || code == Z_MEM_ERROR) {
    throw DatasetError(
        fmt::format("{}: offset {}: cannot be read: {}; check the disk and the memory",
                    path.string(), bytes.size(), message));
  }
  if (code != Z_OK && code != Z_STREAM_END) {
    throw DatasetError(fmt::format("{}: offset {}: {}; the file is damaged, download it again",
                                   path.string(), bytes.size(),
                                   code == Z_BUF_ERROR ? "truncated gzip stream" : message));
  }
  if (!most) length_of(bytes);  // for an empty file the format reports what is wrong
  return bytes;
}

}  // namespace topdnn
