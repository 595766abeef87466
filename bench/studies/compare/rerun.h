// Runs the commands of two profiles again, in fresh processes and in turns, so that a change of the
// machine affects both sides. The unit of the comparison is then the process.

#ifndef TOPDNN_BENCH_STUDIES_COMPARE_RERUN_H_
#define TOPDNN_BENCH_STUDIES_COMPARE_RERUN_H_

#include <functional>
#include <string>
#include <vector>

#include "bench/studies/compare/compared_results.h"

namespace topdnn {

struct RerunOptions {
  int repeats = 5;        // processes a side
  std::string program_a;  // this program if empty
  std::string program_b;
  std::function<void(const std::string& what, double share)> progress;
};

// The arguments of the recorded command, without the files that it wrote. Throws UsageError, which
// names `where`, for a command other than `topdnn profile`, and for a replay.
std::vector<std::string> ArgumentsToRepeat(const std::string& command, const std::string& where);

// Replaces the runs of each case by new ones: A B B A A B ... Throws UsageError if a command cannot
// be run again, and NothingMeasured if a run fails.
void Rerun(const RerunOptions& options, ComparedResults& results);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COMPARE_RERUN_H_
