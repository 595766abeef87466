#include "bench/studies/process/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "bench/command_line/command.h"

namespace topdnn {

TemporaryFolder::TemporaryFolder() {
  const char* const chosen = std::getenv("TMPDIR");
  const std::filesystem::path parent = chosen != nullptr && *chosen != 0 ? chosen : "/tmp";
  std::string name = (parent / "topdnn-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw UsageError(
        fmt::format("{}: no temporary folder can be made: {}: set TMPDIR to a folder of yours",
                    parent.string(), std::strerror(errno)));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace topdnn
