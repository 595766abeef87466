// The problems of lines and files for benchdnn as a problem set: `topdnn bench` runs each in its
// types, layouts and post-ops, on oneDNN. What cannot be measured is refused with the reason.

#ifndef TOPDNN_BENCH_BENCHDNN_BENCHDNN_PROBLEM_SET_H_
#define TOPDNN_BENCH_BENCHDNN_BENCHDNN_PROBLEM_SET_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "bench/cases/problem_sets.h"

namespace topdnn {

// Adds the problems of a command line for benchdnn. `origin` names it in errors. Throws UsageError,
// also if it names no problem.
void AddBenchdnnProblems(std::string_view text, const std::string& origin, ProblemSet& set);

// The set in a file of at most 64 MiB, named after it: topdnn's own, or a batch file for benchdnn.
// Only the first problems, of which there are at most kMostBenchdnnProblems. Throws UsageError.
ProblemSet ReadAnyProblemSet(const std::string& path, std::size_t first);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHDNN_BENCHDNN_PROBLEM_SET_H_
