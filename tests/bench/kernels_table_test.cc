// The tables of docs/kernels.md and docs/fidelity.md must be the output of `topdnn kernels`. The
// first lists everything that works here, and everything in it works here, except types that this
// CPU may lack.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases/problem_sets.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"
#include "tests/process/child_process.h"

namespace topdnn {
namespace {

// (operation, pass, backend) -> types.
using Table = std::map<std::vector<std::string>, std::set<std::string>>;

std::vector<std::string> CellsOf(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream text(row);
  std::string cell;
  std::getline(text, cell, '|');  // before the first bar
  while (std::getline(text, cell, '|')) {
    const auto first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos
                        ? ""
                        : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

Table ReadTable(std::istream& lines) {
  Table table;
  std::vector<std::string> header;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells =
        line.starts_with("|") ? CellsOf(line) : std::vector<std::string>();
    if (cells.empty()) {
      if (!header.empty()) break;
      continue;
    }
    if (header.empty() && cells.front() == "operation") {
      header = cells;
      continue;
    }
    if (header.empty() || cells.front().starts_with("-")) continue;
    for (std::size_t i = 2; i < cells.size() && i < header.size(); ++i) {
      std::istringstream types(cells[i]);
      std::set<std::string>& of_cell = table[{cells[0], cells[1], header[i]}];
      for (std::string type; types >> type;) of_cell.insert(type);
    }
  }
  return table;
}

TEST(KernelsTableTest, TheDocumentHasTheProgramsOutput) {
  const Outcome outcome = RunShell(Quoted(TOPDNN_BINARY_DIR "/topdnn") + " kernels");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  std::istringstream printed(outcome.output);
  const Table here = ReadTable(printed);
  std::ifstream readme(TOPDNN_SOURCE_DIR "/docs/kernels.md");
  const Table written = ReadTable(readme);
  ASSERT_GT(here.size(), 20U);
  // Entries that a CPU, or a build for one ISA, may lack.
  const std::set<std::string> of_some_cpus = {"bf16", "u8", "s8"};
  // oneDNN decides by the sizes of the caches and the number of threads.
  const std::vector<std::string> of_some_caches = {"conv_depthwise", "forward", "onednn"};
  for (const auto& [key, types] : here) {
    const std::string what = key[0] + " " + key[1] + " on " + key[2];
    ASSERT_TRUE(written.contains(key))
        << what << " is not in docs/kernels.md; paste `topdnn kernels`";
    for (const std::string& type : types) {
      EXPECT_TRUE(written.at(key).contains(type)) << what << " works in " << type;
    }
    for (const std::string& type : written.at(key)) {
      EXPECT_TRUE(types.contains(type) || of_some_cpus.contains(type) || key == of_some_caches)
          << what << " does not work in " << type;
    }
  }
  EXPECT_EQ(written.size(), here.size());
}

TEST(KernelsTableTest, TheDocumentHasTheFidelityOfEveryKernel) {
  const Outcome outcome = RunShell(Quoted(TOPDNN_BINARY_DIR "/topdnn") + " kernels --fidelity");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  std::ifstream file(TOPDNN_SOURCE_DIR "/docs/fidelity.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), testing::HasSubstr("\n" + outcome.output + "\n"))
      << "paste `topdnn kernels --fidelity`";
}

bool HasKernel(std::string_view kind, std::string_view backend) {
  const auto kernels = RegisteredKernels();
  return std::any_of(kernels.begin(), kernels.end(), [&](const auto& kernel) {
    return kernel.first == kind && kernel.second == backend;
  });
}

// Every pass of an operation has one entry. It names the file of the framework that was read, or
// says that the framework has no such operation.
TEST(KernelsTableTest, EveryPassHasOneFidelity) {
  for (const FidelityEntry& entry : FidelityEntries()) {
    const bool has_none = entry.how.find("has no such operation") != std::string::npos;
    EXPECT_EQ(entry.source.empty(), has_none) << entry.kind << " " << entry.backend;
    EXPECT_TRUE(entry.fidelity == Fidelity::kOurs || !has_none) << entry.kind;
  }
  for (const CountedProblem& problem : ProblemSetNamed("smoke").problems) {
    for (const Pass pass : problem.passes) {
      if (!problem.op->Has({pass, /*training=*/true, DataType::kF32})) continue;
      for (const std::string backend : {"eigen", "openblas", "native"}) {
        int entries = 0;
        for (const FidelityEntry& entry : FidelityEntries()) {
          if (entry.kind != problem.op->kind() || entry.backend != backend) continue;
          const auto& passes = entry.passes;
          entries += passes.empty() || std::count(passes.begin(), passes.end(), pass) == 1 ? 1 : 0;
        }
        EXPECT_EQ(entries, HasKernel(problem.op->kind(), backend) ? 1 : 0)
            << problem.op->kind() << " " << NameOf(pass) << " " << backend;
      }
    }
  }
}

}  // namespace
}  // namespace topdnn
