#include "tests/kernels/case_count.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <mutex>

namespace topdnn {

namespace {

// Checks may run in several threads.
class CaseCountPrinter : public testing::Environment {
 public:
  void Add(const std::string& kind) {
    const std::lock_guard lock(mutex_);
    counts_.Add(kind, 1);
  }
  void AddLeftOut(const std::string& kind, const std::string& name, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    counts_.AddLeftOut(kind, name, reason);
  }
  void TearDown() override {
    std::fputs(counts_.Lines().c_str(), stdout);
    std::fflush(stdout);
  }

 private:
  std::mutex mutex_;
  CaseCounts counts_;
};

// The only one of the program; gtest owns it.
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

void CountCase(const std::string& kind) { kCaseCountPrinter->Add(kind); }

void CountLeftOut(const std::string& kind, const std::string& name, const std::string& reason) {
  kCaseCountPrinter->AddLeftOut(kind, name, reason);
}

}  // namespace topdnn
