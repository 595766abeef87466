// Counts what the tests of a program really checked (randomised cases, gradient checks, cases of a
// published collection) and what they left out, and prints it at the program's end, so that a run
// of all tests can say how much it rests on. gtest counts tests, each of which may check hundreds
// of cases, or none. tests/case_totals adds the lines of several programs up.

#ifndef TOPDNN_TESTS_KERNELS_CASE_COUNT_H_
#define TOPDNN_TESTS_KERNELS_CASE_COUNT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace topdnn {

// Sums by kind. No text may hold " | " or a line break: they separate what is printed.
class CaseCounts {
 public:
  void Add(const std::string& kind, std::int64_t cases) { cases_[kind] += cases; }
  void AddLeftOut(const std::string& kind, const std::string& name, const std::string& reason) {
    left_out_.insert({kind, name, reason});
  }

  // "cases | KIND | COUNT" and "left out | KIND | NAME | REASON", a line each.
  std::string Lines() const;

 private:
  std::map<std::string, std::int64_t> cases_;
  std::set<std::tuple<std::string, std::string, std::string>> left_out_;
};

// One more case of a kind ("randomised", "gradient check") has run. What is counted by these two is
// printed after the program's last test.
void CountCase(const std::string& kind);

// A case of a kind that could not run, by its name.
void CountLeftOut(const std::string& kind, const std::string& name, const std::string& reason);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_CASE_COUNT_H_
