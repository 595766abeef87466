#include "tests/kernels/case_count.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace topdnn {

namespace {

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
CaseCountPrinter* const kCaseCountPrinter = [] {
  auto* printer = new CaseCountPrinter;
  testing::AddGlobalTestEnvironment(printer);
  return printer;
}();

}  // namespace

std::string CaseCounts::Lines() const {
  std::string lines;
  for (const auto& [kind, cases] : cases_) {
    lines += fmt::format("cases | {} | {}\n", kind, cases);
  }
  for (const auto& [kind, name, reason] : left_out_) {
    lines += fmt::format("left out | {} | {} | {}\n", kind, name, reason);
  }
  return lines;
}

void CountCase(const std::string& kind) { kCaseCountPrinter->counts().Add(kind, 1); }

void CountLeftOut(const std::string& kind, const std::string& name, const std::string& reason) {
  kCaseCountPrinter->counts().AddLeftOut(kind, name, reason);
}

}  // namespace topdnn
