// Runs a program as a child process, so that its crash, its memory and its time are its own.

#ifndef TOPDNN_BENCH_STUDIES_PROCESS_CHILD_PROGRAM_H_
#define TOPDNN_BENCH_STUDIES_PROCESS_CHILD_PROGRAM_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace topdnn {

struct ChildProgram {
  std::vector<std::string> arguments;  // the program's path first; there is no shell
  std::vector<std::pair<std::string, std::string>> environment;  // added to this process's
  std::string log;  // the file for its standard output and standard error
  double most_seconds = 0;
  const std::atomic<bool>* cancel = nullptr;
};

struct ChildOutcome {
  enum class End { kExited, kSignalled, kTimedOut, kCancelled };

  End end = End::kExited;
  int status = 0;              // the exit status, or the number of the signal
  bool out_of_memory = false;  // the kernel ended it because the memory was used up
  double seconds = 0;          // wall time
  std::string last_line;       // ReasonInLog
};

// Runs the program, and waits for its end. The kernel ends the child when this process ends. If
// memory runs out, the kernel ends the child rather than another process. A child that runs longer
// than allowed, or is running when `cancel` becomes true, is ended with SIGKILL. Throws
// std::system_error if no process can be started or the log cannot be written.
ChildOutcome RunChild(const ChildProgram& program);

// What limits oneDNN in a child to this ISA, such as "avx2". Empty for "any" and for an unknown
// one.
std::vector<std::pair<std::string, std::string>> EnvironmentOfIsa(const std::string& isa);

// Starts the program and returns its process number; `most_seconds` and `cancel` are not used. The
// caller must wait for it. Throws as RunChild.
pid_t StartChild(const ChildProgram& program);

// Ends the child and what it started, with SIGKILL.
void KillChild(pid_t child);

// The CPU time of a process, in user and system mode.
double CpuSecondsOf(const rusage& used);

// The line of a program's log that says why it ended: topdnn's last line to the user, which tables
// may follow, or else the last line with text. Empty if there is none.
std::string ReasonInLog(const std::string& path);

// The path of the program that is running.
std::string OwnProgram();

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_PROCESS_CHILD_PROGRAM_H_
