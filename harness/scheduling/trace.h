// A trace: the jobs of a co-scheduling run, with their arrivals. As CSV, it can be written, edited
// and read again. Pure.

#ifndef TOPDNN_HARNESS_SCHEDULING_TRACE_H_
#define TOPDNN_HARNESS_SCHEDULING_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// A job: steps of one network.
struct TraceJob {
  std::string network;
  bool training = false;
  int batch = 1;
  std::int64_t steps = 1;
  double arrival = 0;  // seconds after the start of the run
  int priority = 0;    // a job of a higher priority is before all jobs of a lower one in the queue
  int min_width = 1;   // threads
  int max_width = 1;

  bool operator==(const TraceJob&) const = default;
};

// "train" or "infer".
std::string_view PassOf(const TraceJob& job);

// Limits of a trace.
inline constexpr std::size_t kMostTraceJobs = 1'000'000;
inline constexpr double kLastArrival = 1e7;  // seconds: almost four months
inline constexpr int kMostTraceWidth = 4096;

// The first line of a trace.
inline constexpr std::string_view kTraceHeader =
    "network,pass,batch,steps,arrival,priority,min_width,max_width";

// Reads a trace. Lines that are empty or begin with '#' are skipped. The jobs are sorted by their
// arrival; jobs that arrive together keep their order. `name` is the file's, for messages. A
// maximum width above `cpus` becomes `cpus`; a minimum width above it is refused. `refuse` returns
// why there is no such network; empty: there is one. Throws InputError.
std::vector<TraceJob> ParseTrace(
    std::string_view text, const std::string& name, int cpus,
    const std::function<std::string(const std::string& network)>& refuse);

// The trace as CSV. ParseTrace reads the same jobs from it.
std::string TraceText(const std::vector<TraceJob>& jobs);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SCHEDULING_TRACE_H_
