// CI fails on a skip whose reason tests/skip_reasons.txt lacks, also where the test skips only on a
// machine without some package. So a reason that is a constant is compared with the list here, too.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <regex>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace topdnn {
namespace {

// The reasons in the text that consist of string literals alone, as "FILE: REASON".
std::vector<std::string> ConstantReasons(const SourceFile& file) {
  static const std::regex skip(R"re(GTEST_SKIP\(\)\s*<<\s*((?:"[^"\n]*"\s*)+);)re");
  static const std::regex seam(R"re("\s*")re");
  std::vector<std::string> reasons;
  for (std::sregex_iterator match(file.text.begin(), file.text.end(), skip), end; match != end;
       ++match) {
    std::string reason = (*match)[1];
    reason = std::regex_replace(reason.substr(1, reason.rfind('"') - 1), seam, "");
    reasons.push_back(file.path + ": " + reason);
  }
  return reasons;
}

// The reasons of the list.
std::vector<std::regex> ListedReasons() {
  std::vector<std::regex> listed;
  for (const std::string& line : LinesOf(ReadSource("tests/skip_reasons.txt").text)) {
    if (!line.empty() && line[0] != '#') listed.emplace_back(line, std::regex::extended);
  }
  return listed;
}

// A machine of CI has the packages of setup/packages.txt, and what these tests need.
bool CiMustNotHave(const std::string& reason) {
  static const std::regex machine(
      "the exact counter does not work|built without (MPI|ITT tasks)|this is not Debian|has no "
      "PMIx|"
      "keeps no accounts of waiting|perf counts nothing here|depend on the stack's depth");
  if (std::regex_search(reason, machine)) return true;
  static const std::string packages = "\n" + ReadSource("setup/packages.txt").text;
  static const std::regex word("[a-z][a-z0-9.+-]+[a-z0-9]");
  for (std::sregex_iterator name(reason.begin(), reason.end(), word), end; name != end; ++name) {
    if (packages.find("\n" + name->str() + " ") != std::string::npos ||
        packages.find("\ntest:" + name->str() + " ") != std::string::npos ||
        packages.find("\nci:" + name->str() + " ") != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(SkipReasonsTest, EachConstantReasonIsListedOrImpossibleInCi) {
  const std::vector<std::regex> listed = ListedReasons();
  std::size_t constant = 0;
  for (const SourceFile& file : CppFiles()) {
    if (!file.path.starts_with("tests/")) continue;
    for (const std::string& reason : ConstantReasons(file)) {
      ++constant;
      bool known = CiMustNotHave(reason);
      for (const std::regex& pattern : listed) known = known || std::regex_search(reason, pattern);
      EXPECT_TRUE(known)
          << reason << "\nadd it to tests/skip_reasons.txt, or its package to setup/packages.txt";
    }
  }
  EXPECT_GT(constant, 80u);
}

}  // namespace
}  // namespace topdnn
