// A row of `topdnn bench`: passes the samples of a measurement to Google Benchmark, and adds the
// record's figures as counters; or says why there are none.

#ifndef TOPDNN_BENCH_CASES_BENCHMARK_ROWS_H_
#define TOPDNN_BENCH_CASES_BENCHMARK_ROWS_H_

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "bench/cases/cases.h"
#include "harness/results/record.h"

namespace topdnn {

// Runs the row's iterations. Each reports the next sample, in seconds, as its time.
void ReplaySamples(std::span<const double> samples, benchmark::State& state);

// Sets a counter, unless the value is absent. Never sets NaN: Google Benchmark would write it as a
// bare word, which is not JSON.
void SetCounter(const std::string& name, std::optional<double> value, benchmark::State& state);

// Sets the counters of a record that has times, including its events. The row's label is `what`,
// followed by the status and its reason unless the status is OK.
void SetRecord(const Record& record, const std::string& what, benchmark::State& state);

// Ends the row without a time, and counts it: the case is not possible here, or it failed.
void SkipRow(const std::string& reason, benchmark::State& state, BenchmarkCases& cases);
void FailRow(const std::string& message, benchmark::State& state, BenchmarkCases& cases);

// Adds a case whose `run` reports the time of each of its iterations.
void AddManualCase(const std::string& name, std::int64_t iterations, benchmark::TimeUnit unit,
                   std::function<void(benchmark::State&)> run, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_BENCHMARK_ROWS_H_
