// What every row of `topdnn bench` does with a measurement: hand its samples to Google Benchmark
// and say the record's figures beside them.

#ifndef TOPDNN_BENCH_BENCHMARK_ROWS_H_
#define TOPDNN_BENCH_BENCHMARK_ROWS_H_

#include <benchmark/benchmark.h>

#include <optional>
#include <span>
#include <string>

#include "harness/record.h"

namespace topdnn {

// Runs the row's iterations, each taking as long as the next of the samples, in seconds.
void ReplaySamples(std::span<const double> samples, benchmark::State& state);

// Sets a counter, unless the value is absent: never a NaN, which Google Benchmark would write bare
// into JSON.
void SetCounter(const std::string& name, std::optional<double> value, benchmark::State& state);

// Sets the counters of a record that has times, its events included, and labels the row: `what`,
// and the status with its reason unless OK.
void SetRecord(const Record& record, const std::string& what, benchmark::State& state);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHMARK_ROWS_H_
