// What a program executed while topdnn watched it: the rows of its log (bench/log/read/trace.h)
// with the counters of each, the steps, and the time between primitives.

#ifndef TOPDNN_BENCH_LIVE_LIVE_TRACE_H_
#define TOPDNN_BENCH_LIVE_LIVE_TRACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/live/live_memory.h"
#include "bench/log/read/trace.h"

namespace topdnn {

// The executions of a row that had a task.
struct LiveRow {
  std::int64_t tasks = 0;
  std::int64_t overlapped = 0;  // beside a task of another thread: the counts are those of both
  double seconds = 0;           // from the begin of each task to its line
  std::array<double, LIVE_ENABLED> kernel{};  // sums of the kernel's counts
  std::int64_t hardware_tasks = 0;            // tasks with counts of the hardware, and their sums
  double enabled = 0, running = 0;            // ns
  std::array<double, LIVE_MOST_EVENTS> hardware{};

  // A count of the hardware, scaled to the whole time if the group was not always on the counters.
  std::optional<double> Event(std::size_t i) const;
};

struct LiveExecution {
  std::uint32_t row = 0;             // TraceRow::order
  float seconds = 0;                 // of its line
  std::uint64_t begin = 0, end = 0;  // ns
  float gap = 0;                     // seconds before it without a task
};

struct LiveStep {
  std::size_t begin = 0;  // its first execution
  double seconds = 0;     // to the begin of the next one if that follows at once
  double primitive_seconds = 0;
};

// An operator of PyTorch, or a node of its backward pass, that no other one called.
struct LiveOperator {
  std::int64_t runs = 0;
  double seconds = 0;            // from begin to end
  double primitive_seconds = 0;  // of its thread's primitives in it, by their lines
};

struct LiveTrace {
  Trace trace;
  std::vector<LiveRow> rows;                                   // by TraceRow::order
  std::map<std::string, LiveOperator, std::less<>> operators;  // by name
  std::vector<std::string> notes;                              // of the library in the program
  std::vector<std::string> libraries;  // with tasks: "/usr/lib/.../libdnnl.so.2 (ITT 3.22.5)"
  std::int64_t tasks = 0;
  std::int64_t tasks_without_line = 0;
  std::int64_t tasks_of_kind = 0;  // of these: oneDNN said nothing but the kind
  std::int64_t lines_without_task = 0;
  std::int64_t lost = 0;  // records for which there was no memory
  int processes = 0;      // that executed primitives
  // Of all processes, from the first begin of a task to the last end: the time in which no thread
  // was in one, and all time. 0 without tasks.
  double between_seconds = 0;
  double span_seconds = 0;
  // Of the thread with the most executions, at most kMostLiveExecutions.
  std::vector<LiveExecution> executions;
  bool all_executions = true;
  std::size_t step_length = 0;
  std::vector<LiveStep> steps;
};

inline constexpr std::size_t kMostLiveExecutions = 1'000'000;

// Folds records while the program runs, in bounded memory.
class LiveFold {
 public:
  void Add(LiveWriter writer, const LiveRecord& record, const LiveTexts& texts);
  std::int64_t primitives() const { return primitives_; }
  // The rows so far.
  const Trace& SoFar() const { return reader_.SoFar(); }
  // Steps of the thread with the most executions, by the latest of them; 0 if nothing repeats.
  double StepsSoFar() const;
  LiveTrace Finish();

 private:
  struct Process {
    std::uint64_t first = 0, last = 0, gaps = 0;  // ns
  };

  void AddTask(LiveWriter writer, const LiveRecord& record, std::string_view text);
  void AddCounts(const LiveRecord& record, LiveRow& row);

  TraceReader reader_;
  LiveTrace live_;
  std::map<std::uint32_t, Process> processes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<LiveExecution>> threads_;
  std::size_t executions_ = 0;
  std::int64_t primitives_ = 0;
};

// Pure. The steps of a sequence of executions.
void SetSteps(LiveTrace& live);

// The rows of one step alone, by the numbers of `steps`. The counts are those of all steps, so they
// are left out.
LiveTrace OfStep(const LiveTrace& live, std::size_t step);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LIVE_LIVE_TRACE_H_
