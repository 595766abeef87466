// Reads a user's file completely.

#ifndef TOPDNN_BENCH_FORMATS_WHOLE_FILE_H_
#define TOPDNN_BENCH_FORMATS_WHOLE_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string>

namespace topdnn {

// Throws UsageError, in one line, if the path is not a file, cannot be read, or is larger than
// `memory_limit` bytes (0: no limit).
std::string ReadWholeFile(const std::filesystem::path& path, std::size_t memory_limit);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_FORMATS_WHOLE_FILE_H_
