// What the cases of the speed benchmark have in common: each measures for itself, as often as it
// needs, and tells figures and a sentence in one row.

#ifndef TOPDNN_BENCH_SPEED_CASE_H_
#define TOPDNN_BENCH_SPEED_CASE_H_

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "bench/kernel_case.h"
#include "harness/counters/clock.h"
#include "harness/mark_overhead.h"
#include "harness/measure.h"

namespace topdnn {

// What a case measured: its counters, and a sentence.
struct Findings {
  std::map<std::string, double> counters;
  std::string label;
};

// A library or machine that lacks what the case is about.
class Skipped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Seconds of `ours` over `theirs`, in pairs whose order alternates; each is called once before.
MarkOverhead RatioOf(const std::function<double()>& ours, const std::function<double()>& theirs);
// Adds ratio, and ratio_low and ratio_high where the ratio has an interval.
void SetRatio(const MarkOverhead& ratio, Findings& findings);

// Seconds of each run, warm, at that width; as many as fit `seconds`, nine at least. Throws
// std::runtime_error when interrupted.
std::vector<double> SecondsOfRuns(int threads, const Action& run, double seconds,
                                  double most_warmup_seconds);

double SecondsOf(const TickClock& clock, const std::function<void()>& work);

// The variant's kernel, checked against the reference. Throws Skipped where there is none, and
// std::runtime_error where its result is wrong.
std::unique_ptr<KernelCase> MakeSpeedCase(const std::string& variant, const KernelProblem& problem,
                                          int threads);

// Adds a case that calls `measure` once.
void AddSpeedCase(const std::string& name, std::function<Findings()> measure,
                  BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SPEED_CASE_H_
