// Reads a user's file completely.

#ifndef TOPDNN_BENCH_FORMATS_WHOLE_FILE_H_
#define TOPDNN_BENCH_FORMATS_WHOLE_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string>

namespace topdnn {

// The bytes of a file, or of a pipe of the shell (harness/files/input_file.h). Throws UsageError,
// in one line, if the path is something else, cannot be read, or has more than `memory_limit` bytes
// (0: no limit).
std::string ReadWholeFile(const std::filesystem::path& path, std::size_t memory_limit);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_FORMATS_WHOLE_FILE_H_
