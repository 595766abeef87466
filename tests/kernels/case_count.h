// Counts what the tests of a program really checked (randomised cases, gradient checks, cases of a
// published collection) and what they left out, and prints it at the program's end, so that a run
// of all tests can say how much it rests on. gtest counts tests, each of which may check hundreds
// of cases, or none. tests/case_totals adds the lines of several programs up.

#ifndef TOPDNN_TESTS_KERNELS_CASE_COUNT_H_
#define TOPDNN_TESTS_KERNELS_CASE_COUNT_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
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
  std::string Lines() const {
    std::string lines;
    for (const auto& [kind, cases] : cases_) {
      lines += fmt::format("cases | {} | {}\n", kind, cases);
    }
    for (const auto& [kind, name, reason] : left_out_) {
      lines += fmt::format("left out | {} | {} | {}\n", kind, name, reason);
    }
    return lines;
  }

 private:
  std::map<std::string, std::int64_t> cases_;
  std::set<std::tuple<std::string, std::string, std::string>> left_out_;
};

// Prints the counts of the whole program after its last test.
class CaseCountPrinter : public testing::Environment {
 public:
  CaseCounts& counts() { return counts_; }
  void TearDown() override {
    std::fputs(counts_.Lines().c_str(), stdout);
    std::fflush(stdout);
  }

 private:
  CaseCounts counts_;
};

// The program's one; gtest owns it.
inline CaseCountPrinter* const kCaseCountPrinter = [] {
  auto* printer = new CaseCountPrinter;
  testing::AddGlobalTestEnvironment(printer);
  return printer;
}();

// One more case of a kind ("randomised", "gradient check") has run.
inline void CountCase(const std::string& kind) { kCaseCountPrinter->counts().Add(kind, 1); }

// A case of a kind that could not run, by its name.
inline void CountLeftOut(const std::string& kind, const std::string& name,
                         const std::string& reason) {
  kCaseCountPrinter->counts().AddLeftOut(kind, name, reason);
}

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_CASE_COUNT_H_
