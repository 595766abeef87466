// The cases of `topdnn bench` and their outcome. Google Benchmark 1.7.1 takes a minute to list
// twenty thousand registered cases, and exits with 0 even if cases fail. So only the selected cases
// are registered there, and this program computes the exit status.

#ifndef TOPDNN_BENCH_CASES_CASES_H_
#define TOPDNN_BENCH_CASES_CASES_H_

#include <functional>
#include <string>
#include <vector>

namespace topdnn {

struct BenchmarkCase {
  std::string name;                     // as Google Benchmark prints it
  std::function<void()> register_case;  // with Google Benchmark
};

struct BenchmarkCases {
  std::vector<BenchmarkCase> all;
  // Counts of the cases that ran.
  int timed = 0;
  int failed = 0;   // a wrong result, an error
  int skipped = 0;  // not supported by the backend, library or machine
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_CASES_H_
