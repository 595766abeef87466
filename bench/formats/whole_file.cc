#include "bench/formats/whole_file.h"

#include <fmt/format.h>

#include "bench/command_line/command.h"
#include "harness/files/input_file.h"

namespace topdnn {

std::string ReadWholeFile(const std::filesystem::path& path, std::size_t memory_limit) {
  return ReadInputFile(path.string(), {.most_bytes = memory_limit, .smaller = "free some memory"},
                       [&path](const std::string& why) {
                         throw UsageError(fmt::format("{}: {}", path.string(), why));
                       });
}

}  // namespace topdnn
