// Runs a shell command and keeps what it said: for tests of scripts and outside programs.

#ifndef TOPDNN_TESTS_PROCESS_CHILD_PROCESS_H_
#define TOPDNN_TESTS_PROCESS_CHILD_PROCESS_H_

#include <string>
#include <string_view>

namespace topdnn {

struct Outcome {
  int exit_status = -1;  // -1: ended by a signal
  std::string output;    // standard output and standard error together
};

// Runs `command` by /bin/sh. Throws std::runtime_error when no process can be started.
Outcome RunShell(const std::string& command);

// `word` as one word of the shell.
std::string Quoted(std::string_view word);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_PROCESS_CHILD_PROCESS_H_
