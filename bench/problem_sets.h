// Named sets of problems to run kernels on. A set is a text file in bench/problems, compiled into
// the program; a user's own file is read the same way.
//
//   # what it is, and its source
//   passes: forward backward_data backward_weights
//   conv/n8c64h56w56k64r3s3u1v1p1q1 x3
//
// A line is a problem (kernels/problem.h), with the number of times that it occurs when more than
// one; `passes:` names the passes to run of the problems below it.

#ifndef TOPDNN_BENCH_PROBLEM_SETS_H_
#define TOPDNN_BENCH_PROBLEM_SETS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

struct CountedProblem {
  std::shared_ptr<const Op> op;
  std::int64_t count = 1;
  std::vector<Pass> passes = {std::begin(kAllPasses), std::end(kAllPasses)};
};

struct ProblemSet {
  std::string name;  // "deepbench-training"
  std::vector<CountedProblem> problems;
  // Whether its forward pass keeps what backward needs: it has backward passes.
  bool training = false;
};

// Announces a text that the build has taken in.
class ProblemSetRegistration {
 public:
  ProblemSetRegistration(std::string_view name, std::string_view text);
};

// Every set of the program, sorted by name; each network's own layers, once each with their count,
// as "NETWORK-layers".
std::vector<ProblemSet> ProblemSets();
// The one of this name. Throws std::out_of_range when there is none.
ProblemSet ProblemSetNamed(std::string_view name);

// Reads a set. `origin` names the text in errors. Throws UsageError with the line number for what
// cannot be read.
ProblemSet ParseProblemSet(std::string name, std::string_view text, std::string_view origin);
// The set in a file, named after it. Throws UsageError.
ProblemSet ReadProblemSet(const std::string& path);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROBLEM_SETS_H_
