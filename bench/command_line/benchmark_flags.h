// Checks Google Benchmark's flags before Google Benchmark reads them: version 1.7.1 accepts any
// text for most flags, and ends the program with several lines of output for others.

#ifndef TOPDNN_BENCH_COMMAND_LINE_BENCHMARK_FLAGS_H_
#define TOPDNN_BENCH_COMMAND_LINE_BENCHMARK_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

struct BenchmarkFlags {
  std::vector<std::string> passed_on;  // the flags for Google Benchmark
  // Handled by this program instead of Google Benchmark.
  bool list = false;                // --benchmark_list_tests
  std::string out;                  // --benchmark_out; empty: no file
  std::string out_format = "json";  // json, csv, console
  bool dry_run = false;             // --benchmark_dry_run: one iteration, whatever the others say
  // --benchmark_min_time=5x of Google Benchmark 1.8, and 1 of a dry run.
  std::optional<std::int64_t> iterations = {};
  double min_time = 0.5;  // seconds; Google Benchmark's default
};

// Reads the environment (BENCHMARK_OUT=...), then the arguments, which override it. Throws
// UsageError, in one line, for an unknown flag or an invalid value, also of an overridden variable.
BenchmarkFlags ReadBenchmarkFlags(const std::vector<std::string>& arguments);

// Converts the rows of Google Benchmark's JSON to CSV (RFC 4180). The columns are Google
// Benchmark's (name, iterations, real_time, ...) and one for each counter. Throws
// nlohmann::json::exception for other text.
std::string CsvOfBenchmarks(std::string_view json);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_BENCHMARK_FLAGS_H_
