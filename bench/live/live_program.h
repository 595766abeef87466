// Starts an unchanged program with libtopdnn_live.so (collector.c), and folds its records while it
// runs.

#ifndef TOPDNN_BENCH_LIVE_LIVE_PROGRAM_H_
#define TOPDNN_BENCH_LIVE_LIVE_PROGRAM_H_

#include <functional>
#include <string>
#include <vector>

#include "bench/live/live_trace.h"
#include "bench/log/read/traced_command.h"

namespace topdnn {

// What of PyTorch is named.
struct LiveNames {
  bool modules = false;    // the nn.Module of each primitive
  bool operators = false;  // and the operator that PyTorch's own profiler announces
};

struct LiveProgram : ProgramEnd {
  LiveTrace live;
  double seconds = 0;  // wall time of the program
};

// Runs the program in `arguments` (found as the shell finds it) and waits for its end. Its standard
// streams are this process's. After an interrupt of this process the program has two seconds to
// end, and is ended then. `events`: of the hardware, for each primitive. `progress` is called about
// twice a second. Throws UsageError for a program that cannot be started, or into which no library
// can be loaded. `output`: the program's standard output.
LiveProgram RunLive(const std::vector<std::string>& arguments, const std::vector<LiveEvent>& events,
                    LiveNames names, const std::function<void(const LiveFold& fold)>& progress,
                    int output);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LIVE_LIVE_PROGRAM_H_
