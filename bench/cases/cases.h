// The cases of `topdnn bench` and their outcome. Google Benchmark 1.7.1 takes a minute to list
// twenty thousand registered cases, and exits with 0 even if cases fail. So only the selected cases
// are registered there, and this program computes the exit status.

#ifndef TOPDNN_BENCH_CASES_CASES_H_
#define TOPDNN_BENCH_CASES_CASES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/kernel_explanation.h"
#include "bench/cases/problem_sets.h"
#include "kernels/op/op.h"

namespace topdnn {

struct BenchmarkCase {
  std::string name;                     // as Google Benchmark prints it
  std::function<void()> register_case;  // with Google Benchmark
  // Of a case that is one kernel: the operation, and how it runs. Layouts and the algorithm are
  // those that the case settles for oneDNN.
  std::shared_ptr<const Op> op = nullptr;
  SettledProblem settled = {};
  std::string refusal = {};  // why a problem of a set is not measured
};

struct BenchmarkCases {
  std::vector<BenchmarkCase> all;
  std::optional<std::int64_t> iterations = {};  // of each case; absent: the case's own
  bool explains = false;                        // count what the kernels execute
  std::vector<KernelExplanation> explanations;  // of the kernels that ran
  // Counts of the cases that ran.
  int timed = 0;
  int failed = 0;   // a wrong result, an error
  int skipped = 0;  // not supported by the backend, library or machine
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_CASES_H_
