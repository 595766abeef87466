// The threads of a process.

#ifndef TOPDNN_HARNESS_MACHINE_THREAD_LIST_H_
#define TOPDNN_HARNESS_MACHINE_THREAD_LIST_H_

#include <sys/types.h>

#include <filesystem>
#include <system_error>
#include <vector>

namespace topdnn {

// The threads in a folder /proc/PID/task, ascending. While a thread ends, a reading of the folder
// may leave out others that live on (6 of 20,000 readings after the join of another thread, Linux
// 6.18), so it is read until two readings agree. `error`: why it cannot be read.
std::vector<pid_t> ThreadsIn(const std::filesystem::path& tasks, std::error_code& error);
// Those of this process. Throws std::filesystem::filesystem_error if they cannot be read.
std::vector<pid_t> ThreadsOfThisProcess();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_THREAD_LIST_H_
