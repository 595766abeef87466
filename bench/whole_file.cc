#include "bench/whole_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "bench/command.h"

namespace topdnn {

std::string ReadWholeFile(const std::filesystem::path& path, std::size_t memory_limit) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("{}: {}", path.string(), why));
  };
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) refuse(fmt::format("{}; give the path of a file", error.message()));
  if (memory_limit != 0 && size > memory_limit) {
    refuse(fmt::format("{} MiB, and {} MiB of memory may be used; free some", size >> 20,
                       memory_limit >> 20));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(fmt::format("{}; give a file that can be read", std::strerror(errno)));
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::uintmax_t>(file.gcount()) != size) refuse("it shrank while it was read");
  return bytes;
}

}  // namespace topdnn
