// Runs a program with oneDNN's log switched on, and reads the log from its standard output.

#ifndef TOPDNN_BENCH_LOG_READ_TRACED_COMMAND_H_
#define TOPDNN_BENCH_LOG_READ_TRACED_COMMAND_H_

#include <string>
#include <vector>

#include "bench/log/read/trace.h"

namespace topdnn {

// How a program ended.
struct ProgramEnd {
  int status = 0;   // 128 + its signal if one ended it
  std::string end;  // "ended with status 3", "was ended by signal 9"; empty for status 0
};
// From a status of waitpid(2).
ProgramEnd ProgramEndOf(int waited);

// A level of the log (ONEDNN_VERBOSE) with executions: "1,error" for "error". oneDNN 3 reads a list
// of words; earlier versions read the number that it begins with.
std::string WithExecutions(const std::string& level);

struct TracedCommand : ProgramEnd {
  Trace trace;
};

// Runs the program in `arguments` (found as the shell finds it) with ONEDNN_VERBOSE, DNNL_VERBOSE
// and the time stamps switched on: executions are added to the level of the environment. Its own
// lines are written to the descriptor `output` as they come, until its reader ends; those of oneDNN
// are read. Waits for its end. Throws UsageError if it cannot be started.
TracedCommand RunTraced(const std::vector<std::string>& arguments, int output);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LOG_READ_TRACED_COMMAND_H_
