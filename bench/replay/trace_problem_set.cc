#include "bench/replay/trace_problem_set.h"

#include <fmt/format.h>

#include "bench/cases/problem_sets.h"
#include "bench/command_line/command.h"
#include "harness/text/one_line.h"
#include "kernels/op/problem.h"

namespace topdnn {

namespace {

std::string WordOf(const TracedProblem& problem) {
  return fmt::format("{}/{}", problem.op->kind(), problem.op->Problem());
}

// Whether the word spells this problem: a file must not contain one that cannot be read.
bool CanBeRead(const std::string& word) {
  try {
    static_cast<void>(ParseProblem(word));
    return true;
  } catch (const ProblemError&) {
    return false;
  }
}

std::string Comment(const TraceRow& row, const std::string& reason) {
  return fmt::format("# {}\n", OneLine(fmt::format("{} {} x{}: {}", row.primitive, row.problem,
                                                   row.count, reason)));
}

}  // namespace

std::string ProblemSetText(const MeasuredTrace& measured) {
  std::string left_out;
  std::string text;
  for (const Pass pass : kAllPasses) {
    std::string lines;
    for (const MeasuredRow& row : measured.rows) {
      if (!row.problem || row.problem->execution.pass != pass) continue;
      const std::string word = WordOf(*row.problem);
      if (row.failed || !CanBeRead(word)) {
        left_out += Comment(row.row, row.failed ? row.reason : "it has no word for a problem");
        continue;
      }
      const SettledProblem settled{row.problem->execution, row.problem->layouts,
                                   row.problem->algorithm};
      lines += fmt::format("{} x{} {}\n", word, row.row.count, settled.Words());
    }
    if (!lines.empty()) text += fmt::format("passes: {}\n{}", NameOf(pass), lines);
  }
  for (const MeasuredRow& row : measured.rows) {
    if (!row.problem) left_out += Comment(row.row, row.reason);
  }
  return fmt::format("# From a log of oneDNN: {}\n# {}\n{}{}", OneLine(CommandLine()),
                     OneLine(measured.trace.library), text, left_out);
}

}  // namespace topdnn
