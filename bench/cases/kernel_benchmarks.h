// The kernels of the problem sets as Google Benchmark cases, named
// SET/OPERATION/PROBLEM/PASS/VARIANT/TYPE/tTHREADS, followed by /cold if the caches are emptied
// before each run.

#ifndef TOPDNN_BENCH_CASES_KERNEL_BENCHMARKS_H_
#define TOPDNN_BENCH_CASES_KERNEL_BENCHMARKS_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/cases/kernel_case.h"
#include "bench/cases/problem_sets.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/op.h"

namespace topdnn {

// The result of choosing a variant for `auto` in a case. bench/choice/ implements the choice.
struct AutoVariant {
  struct Chosen {
    std::optional<Variant> variant;
    std::string reason;  // why there is no variant
    std::string text;    // what the case prints about the choice
  };
  bool (*applies)(const Op& op);
  Chosen (*choose)(const KernelProblem& problem, int threads);
};

// Adds every case of the sets at this width.
void AddKernels(const std::vector<ProblemSet>& sets, int threads, const AutoVariant& automatic,
                BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_KERNEL_BENCHMARKS_H_
