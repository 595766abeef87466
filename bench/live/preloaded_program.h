// Starts an unchanged program into which the dynamic linker loads a library of ours.

#ifndef TOPDNN_BENCH_LIVE_PRELOADED_PROGRAM_H_
#define TOPDNN_BENCH_LIVE_PRELOADED_PROGRAM_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace topdnn {

using Variables = std::map<std::string, std::string>;

class PreloadedProgram {
 public:
  // `option` is what messages begin with, "--live". `library`: its file, beside the running
  // program. Throws UsageError if the library is missing, or cannot be loaded into the program.
  // `instead`: what the message then advises.
  PreloadedProgram(std::string option, std::vector<std::string> arguments,
                   const std::string& library, const std::string& instead = {});

  // Of this process, with the library in LD_PRELOAD; they may be changed until the program starts.
  Variables& variables() { return variables_; }
  const std::string& library() const { return library_; }

  // Starts the program (found as the shell finds it) with this process's standard streams, but
  // `output` as its standard output. Throws UsageError if that is not possible.
  void Start(int output);
  // Waits for the end, and calls `each` about every 20 ms. After an interrupt of this process the
  // program has two seconds to end, and is ended then. Returns the status of waitpid(2) and what
  // the program and its children have used.
  std::pair<int, rusage> Wait(const std::function<void()>& each);

 private:
  std::string option_;
  std::vector<std::string> arguments_;
  std::string library_;
  Variables variables_;
  pid_t child_ = 0;
};

// Memory that the program shares: anonymous, so that no full file system limits it, and it ends
// with this process.
class ProgramMemory {
 public:
  // Zeros. `what` it is, for the message of std::system_error, which is thrown if there is none.
  ProgramMemory(const char* name, const char* what, std::size_t bytes);
  ~ProgramMemory();
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;

  void* data() const { return data_; }
  // For the environment of the program: another process opens the memory by it.
  std::string path() const;

 private:
  std::size_t bytes_;
  int file_;
  void* data_ = nullptr;
};

// Why the dynamic linker loads no library into the program at this path: it is static, of another
// architecture, or gets other rights. Empty if it does.
std::string WhyNotPreloaded(const std::string& path);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LIVE_PRELOADED_PROGRAM_H_
