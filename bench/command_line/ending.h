// How a command that threw ends: its exit status and one line. The only place that knows the error
// types of every floor.

#ifndef TOPDNN_BENCH_COMMAND_LINE_ENDING_H_
#define TOPDNN_BENCH_COMMAND_LINE_ENDING_H_

#include <exception>
#include <string>

namespace topdnn {

struct Ending {
  int status = 0;
  std::string line{};
};

// Of an exception that is derived from std::exception.
Ending EndingOf(const std::exception_ptr& failure);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_ENDING_H_
