// Reads a small file completely, mostly one of the kernel's in /proc or /sys. Reading such a file
// may fail at any moment: /proc/PID/stat fails with ESRCH once the process has ended, and
// std::istreambuf_iterator throws then.

#ifndef TOPDNN_HARNESS_FILES_SMALL_FILE_H_
#define TOPDNN_HARNESS_FILES_SMALL_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string>

namespace topdnn {

struct FileText {
  int error = 0;  // errno; 0: `text` is the file's content
  std::string text;
};

// EFBIG for a larger file, EINVAL for what is not a regular file. Does not throw, and does not
// block on a named pipe.
FileText ReadSmallFile(const std::filesystem::path& path,
                       std::size_t most_bytes = std::size_t{1} << 24);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_FILES_SMALL_FILE_H_
