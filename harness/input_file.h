// A file of the user's, read whole. Nothing that is given as a file can block the program for ever:
// a named pipe has perhaps no writer, a device no end.

#ifndef TOPDNN_HARNESS_INPUT_FILE_H_
#define TOPDNN_HARNESS_INPUT_FILE_H_

#include <cstddef>
#include <functional>
#include <string>

namespace topdnn {

struct InputFile {
  std::size_t most_bytes = 0;  // 0: no limit
  // What a larger file is told to do: "record fewer intervals".
  std::string smaller;
};

// Reads a regular file; and a pipe, or what else stands there, that the shell has opened already:
// /dev/stdin, /dev/fd/N and /proc/self/fd/N, as `<(...)` gives them. `refuse` throws the caller's
// error for "what is wrong; the fix"; it does not return.
std::string ReadInputFile(const std::string& path, const InputFile& file,
                          const std::function<void(const std::string& why)>& refuse);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_INPUT_FILE_H_
