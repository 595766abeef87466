// Reads a user's file completely, or piece by piece. No path can block the program forever: a named
// pipe may have no writer, and a device may have no end.

#ifndef TOPDNN_HARNESS_FILES_INPUT_FILE_H_
#define TOPDNN_HARNESS_FILES_INPUT_FILE_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace topdnn {

using RefuseInput = std::function<void(const std::string& why)>;

// A user's file, open for reading: a regular file, or a pipe or other file that the shell has
// already opened (/dev/stdin, /dev/fd/N and /proc/self/fd/N, as in `<(...)`). `refuse` throws the
// caller's error for "what is wrong; the fix"; it does not return.
class OpenInputFile {
 public:
  OpenInputFile(const std::string& path, const RefuseInput& refuse);
  ~OpenInputFile();
  OpenInputFile(const OpenInputFile&) = delete;
  OpenInputFile& operator=(const OpenInputFile&) = delete;

  int fd() const { return fd_; }
  // Of a regular file.
  std::optional<std::size_t> bytes() const { return bytes_; }

 private:
  int fd_;
  std::optional<std::size_t> bytes_;
};

struct InputFile {
  std::size_t most_bytes = 0;  // 0: no limit
  // The fix in the message about a larger file: "record fewer intervals".
  std::string smaller;
};

// The contents of such a file.
std::string ReadInputFile(const std::string& path, const InputFile& file,
                          const RefuseInput& refuse);

// Calls `consume` for each piece of such a file, in order. For files that are larger than memory.
void ReadInputPieces(const std::string& path, const RefuseInput& refuse,
                     const std::function<void(std::string_view piece)>& consume);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_FILES_INPUT_FILE_H_
