// The cases of `topdnn bench` and what came of them. Google Benchmark 1.7.1 takes a minute to list
// twenty thousand registered cases and ends well whatever happened to them; so only those that are
// to run are registered there, and the exit status is made here.

#ifndef TOPDNN_BENCH_CASES_H_
#define TOPDNN_BENCH_CASES_H_

#include <functional>
#include <string>
#include <vector>

namespace topdnn {

struct BenchmarkCase {
  std::string name;                     // as Google Benchmark will spell it
  std::function<void()> register_case;  // with Google Benchmark
};

struct BenchmarkCases {
  std::vector<BenchmarkCase> all;
  // Of those that ran.
  int timed = 0;
  int failed = 0;   // a wrong result, an error
  int skipped = 0;  // what a backend, a library or the machine lacks
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_H_
