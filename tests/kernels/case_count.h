// Counts the cases that a program's tests check (randomised cases, gradient checks, cases of a
// published collection) and those that they leave out, and prints both at the end of the program.
// gtest counts only tests, and one test may check hundreds of cases, or none. tests/case_totals
// sums the lines of several programs.

#ifndef TOPDNN_TESTS_KERNELS_CASE_COUNT_H_
#define TOPDNN_TESTS_KERNELS_CASE_COUNT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace topdnn {

// Sums by kind. A text must not contain " | " or a line break, which separate the printed fields.
class CaseCounts {
 public:
  void Add(const std::string& kind, std::int64_t cases) { cases_[kind] += cases; }
  void AddLeftOut(const std::string& kind, const std::string& name, const std::string& reason) {
    left_out_.insert({kind, name, reason});
  }

  // "cases | KIND | COUNT" and "left out | KIND | NAME | REASON", one per line.
  std::string Lines() const;

 private:
  std::map<std::string, std::int64_t> cases_;
  std::set<std::tuple<std::string, std::string, std::string>> left_out_;
};

// Counts one case of a kind ("randomised", "gradient check") that has run. The counts of CountCase
// and CountLeftOut are printed after the program's last test.
void CountCase(const std::string& kind);

// Counts the case `name` of a kind as not run.
void CountLeftOut(const std::string& kind, const std::string& name, const std::string& reason);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_CASE_COUNT_H_
