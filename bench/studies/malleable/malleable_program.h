// `topdnn malleable --program -- COMMAND`: an unchanged OpenMP program whose parallel regions have
// as many threads as its container allows while it runs; and with --rounds, what that gains.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_PROGRAM_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/log/read/traced_command.h"
#include "harness/statistics/interval.h"

namespace topdnn {

struct AllowedWidth {
  double seconds = 0;  // since the start of the program
  int width = 0;
};

// One run of the program.
struct ProgramRun {
  ProgramEnd end;
  double seconds = 0;          // wall time
  double cpu_seconds = 0;      // of the program and its children
  std::int64_t preempted = 0;  // times that another thread took the CPU
  // Stopped because the quota was used up, summed over the CPUs; absent if no group counts it.
  std::optional<double> stopped_seconds{};
  // Regions whose width OpenMP chose, which therefore follow, and those with a width of their own;
  // and how often the program asked OpenMP for the number of threads, which follows, too.
  std::uint64_t regions = 0, own_regions = 0, asked = 0;
  std::vector<AllowedWidth>
      widths{};  // what was allowed, from the start on; empty if it was unchanged
};

// Runs it with this process's streams. `follows`: its regions get what WidthLimit allows; otherwise
// they are only counted. `output`: its standard output. Throws UsageError if it cannot be started.
ProgramRun RunProgramWithWidth(const std::vector<std::string>& arguments, bool follows, int output);

struct ProgramRounds {
  std::vector<ProgramRun> unchanged, following;  // in turn; the same number, if complete

  // The time when it follows over the time of the unchanged program in the same round: the 95 %
  // interval of the median. Absent below 6 rounds.
  std::optional<Interval> Ratio() const;
};

struct ProgramOptions {
  std::vector<std::string> arguments;
  std::optional<int> rounds;
  std::string json;
  bool quiet = false;
};

// Runs the program, once or in rounds, and prints to standard error. Returns the exit status: the
// program's, if it is not 0.
int RunMalleableProgram(const ProgramOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_PROGRAM_H_
