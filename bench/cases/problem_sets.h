// Named sets of problems to run kernels on. A set is a text file in bench/problems, compiled into
// the program. A user's own file has the same format.
//
//   # what it is, and its source
//   passes: forward backward_data backward_weights
//   conv/n8c64h56w56k64r3s3u1v1p1q1 x3
//
// A line is a problem (kernels/op/problem.h), followed by its number of occurrences if there are
// several. `passes:` names the passes to run for the problems below it. If it names one pass, a
// line may also settle how the problem runs, as a trace does. The problem then runs only in this
// way, and only on oneDNN:
//
//   passes: forward
//   conv/n8c64h56w56k64r3s3u1v1p1q1 x3 type=f32 mode=infer src=acdb weights=Acdb16a dst=acdb

#ifndef TOPDNN_BENCH_CASES_PROBLEM_SETS_H_
#define TOPDNN_BENCH_CASES_PROBLEM_SETS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel/kernel.h"
#include "kernels/op/op.h"

namespace topdnn {

// How a problem runs: its execution, and the layouts of its operands. The backend chooses the
// layouts that are missing.
struct SettledProblem {
  Execution execution;
  std::map<Arg, Layout> layouts;
  std::string algorithm;  // KernelRequest::algorithm
  // What the operation's name leaves out, "_src:u8_dst:s8": tells two problems of one name apart.
  std::string details = {};

  KernelRequest RequestFor(std::shared_ptr<const Op> op, int threads) const;
  // The words of a line: "type=f32 mode=train src=abcd dst=aBcd16b".
  std::string Words() const;
};

struct CountedProblem {
  std::shared_ptr<const Op> op;
  std::int64_t count = 1;
  std::vector<Pass> passes = {std::begin(kAllPasses), std::end(kAllPasses)};
  std::optional<SettledProblem> settled = {};
};

// A problem that cannot be measured, which keeps its place with the reason.
struct RefusedProblem {
  std::string name;
  std::string reason;
};

struct ProblemSet {
  std::string name;  // "deepbench-training"
  std::vector<CountedProblem> problems;
  std::vector<RefusedProblem> refused = {};
  // True if the problem has backward passes: the forward pass then keeps what backward needs.
  bool training = false;
};

// Registers a text that the build has compiled in.
class ProblemSetRegistration {
 public:
  ProblemSetRegistration(std::string_view name, std::string_view text);
};

// Every set of the program, sorted by name. The set "NETWORK-layers" has the layers of a network,
// once each with their count.
std::vector<ProblemSet> ProblemSets();
// The set of this name. Throws std::out_of_range if there is none.
ProblemSet ProblemSetNamed(std::string_view name);

// Reads a set. `origin` names the text in errors. Throws UsageError with the line number of an
// error.
ProblemSet ParseProblemSet(std::string name, std::string_view text, std::string_view origin);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_PROBLEM_SETS_H_
