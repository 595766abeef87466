// A row of `topdnn bench`: passes the samples of a measurement to Google Benchmark, and adds the
// record's figures as counters.

#ifndef TOPDNN_BENCH_CASES_BENCHMARK_ROWS_H_
#define TOPDNN_BENCH_CASES_BENCHMARK_ROWS_H_

#include <benchmark/benchmark.h>

#include <optional>
#include <span>
#include <string>

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

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_BENCHMARK_ROWS_H_
