// The common part of the speed benchmark's cases: each repeats its own measurement as often as it
// needs, and reports figures and a sentence in one row.

#ifndef TOPDNN_BENCH_SPEED_CASE_H_
#define TOPDNN_BENCH_SPEED_CASE_H_

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/cases/kernel_case.h"
#include "harness/counters/clock.h"
#include "harness/measure/mark_overhead.h"
#include "harness/measure/measure.h"

namespace topdnn {

// The results of a case: its counters and a sentence.
struct Findings {
  std::map<std::string, double> counters;
  std::string label;
};

// The library or machine does not support the case.
class Skipped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// How much longer `ours` takes than `theirs`: the median of ours / theirs - 1 over pairs whose
// order alternates. Each is called once before. Throws Interruption when interrupted.
MarkOverhead RatioOf(const std::function<double()>& ours, const std::function<double()>& theirs);
// Adds ratio, and ratio_low and ratio_high where the ratio has an interval.
void SetRatio(const MarkOverhead& ratio, Findings& findings);

// Seconds of each warm run on `threads` threads; as many runs as fit in `seconds`, at least nine.
// Throws Interruption when interrupted.
std::vector<double> SecondsOfRuns(int threads, const Action& run, double seconds,
                                  double most_warmup_seconds);

double SecondsOf(const TickClock& clock, const std::function<void()>& work);

// The variant's kernel, checked against the reference. Throws Skipped if there is none, and
// std::runtime_error if its result is wrong.
std::unique_ptr<KernelCase> MakeSpeedCase(const std::string& variant, const KernelProblem& problem,
                                          int threads);

// Adds a case that calls `measure` once.
void AddSpeedCase(const std::string& name, std::function<Findings()> measure,
                  BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SPEED_CASE_H_
