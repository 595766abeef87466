// Reads a user's file completely, or piece by piece. No path can block the program forever: a named
// pipe may have no writer, and a device may have no end.

#ifndef TOPDNN_HARNESS_INPUT_FILE_H_
#define TOPDNN_HARNESS_INPUT_FILE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace topdnn {

struct InputFile {
  std::size_t most_bytes = 0;  // 0: no limit
  // The fix in the message about a larger file: "record fewer intervals".
  std::string smaller;
};

// Reads a regular file, or a pipe or other file that the shell has already opened: /dev/stdin,
// /dev/fd/N and /proc/self/fd/N, as in `<(...)`. `refuse` throws the caller's error for "what is
// wrong; the fix"; it does not return.
std::string ReadInputFile(const std::string& path, const InputFile& file,
                          const std::function<void(const std::string& why)>& refuse);

// Calls `consume` for each piece of such a file, in order. For files that are larger than memory.
void ReadInputPieces(const std::string& path,
                     const std::function<void(const std::string& why)>& refuse,
                     const std::function<void(std::string_view piece)>& consume);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_INPUT_FILE_H_
