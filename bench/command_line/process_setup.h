// Sets up the process before the program runs, and checks standard output when it ends.

#ifndef TOPDNN_BENCH_COMMAND_LINE_PROCESS_SETUP_H_
#define TOPDNN_BENCH_COMMAND_LINE_PROCESS_SETUP_H_

#include <system_error>

namespace topdnn {

// A write beyond the limit of file sizes (ulimit -f) becomes an error of that write instead of
// ending the program. A closed standard stream is reopened, so that no file opened later gets its
// descriptor. An interrupt and a crash end it without temporary files
// (interrupt.h, sudden_end.h).
void SetUpProcess();

// Flushes standard output. Returns `status`. If the output could not be written (`failure`: an
// earlier error), prints one line on standard error and returns kExitWrong. If the reader has
// closed the pipe, as `head` does, prints nothing and returns the status of SIGPIPE in a shell.
int FinishOutput(int status, std::error_code failure = {});

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_PROCESS_SETUP_H_
