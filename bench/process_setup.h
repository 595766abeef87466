// What the program asks of its process before it runs, and of its standard output when it ends.

#ifndef TOPDNN_BENCH_PROCESS_SETUP_H_
#define TOPDNN_BENCH_PROCESS_SETUP_H_

#include <system_error>

namespace topdnn {

// A write beyond the limit of file sizes (ulimit -f) is an error of that write, not the end of the
// program; and a standard stream that is closed is never taken by a file that is opened later.
void SetUpProcess();

// Flushes standard output. Returns `status`, or, where the output did not arrive (`failure`: what a
// write said before), kExitWrong after one line on standard error. A reader that has gone, such as
// `head`, is no error to speak of: the status is that of SIGPIPE in a shell, in silence.
int FinishOutput(int status, std::error_code failure = {});

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROCESS_SETUP_H_
