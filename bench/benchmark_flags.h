// Google Benchmark's flags, checked before it sees them: version 1.7.1 takes any text for most,
// ends the program at others, and says so in several lines.

#ifndef TOPDNN_BENCH_BENCHMARK_FLAGS_H_
#define TOPDNN_BENCH_BENCHMARK_FLAGS_H_

#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

struct BenchmarkFlags {
  std::vector<std::string> passed_on;  // what Google Benchmark is to see
  // Taken out, since it does not do these as this program promises.
  bool list = false;                // --benchmark_list_tests
  std::string out;                  // --benchmark_out; empty: no file
  std::string out_format = "json";  // json, csv, console
};

// From the arguments, and from the environment (BENCHMARK_OUT=...) where an argument is missing.
// Throws UsageError, in one line, for a flag that does not exist or a value that it does not take.
BenchmarkFlags ReadBenchmarkFlags(const std::vector<std::string>& arguments);

// The rows of Google Benchmark's JSON as CSV (RFC 4180), with its columns: name, iterations,
// real_time, ..., and a column a counter. Throws nlohmann::json::exception for other text.
std::string CsvOfBenchmarks(std::string_view json);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHMARK_FLAGS_H_
