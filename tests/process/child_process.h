// Runs a shell command and captures its output, for tests of scripts and other programs.

#ifndef TOPDNN_TESTS_PROCESS_CHILD_PROCESS_H_
#define TOPDNN_TESTS_PROCESS_CHILD_PROCESS_H_

#include <functional>
#include <string>
#include <string_view>

namespace topdnn {

struct Outcome {
  int exit_status = -1;  // -1: ended by a signal
  std::string output;    // standard output and standard error together
};

// Runs `command` with /bin/sh. Throws std::runtime_error if no process can be started.
Outcome RunShell(const std::string& command);

// Whether the condition becomes true within 20 s.
bool Becomes(const std::function<bool()>& condition);

// Quotes `word` as a single word for the shell.
std::string Quoted(std::string_view word);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_PROCESS_CHILD_PROCESS_H_
