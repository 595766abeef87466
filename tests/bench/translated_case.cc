#include "tests/bench/translated_case.h"

#include <gtest/gtest.h>

#include <ostream>

#include "bench/cases/problem_sets.h"
#include "bench/log/translate/traced_problem.h"

namespace topdnn {

namespace {

TraceRow RowOfFields(const std::string& fields) {
  TraceReader reader;
  reader.Add("onednn_verbose,exec,cpu," + fields + ",0.5\n");
  Trace trace = reader.Finish();
  EXPECT_EQ(trace.rows.size(), 1u) << fields;
  return trace.rows.empty() ? TraceRow() : trace.rows.front();
}

}  // namespace

void PrintTo(const TranslatedCase& one, std::ostream* out) { *out << one.name; }

std::string TranslateFields(const std::string& fields) {
  const auto result = ProblemOf(RowOfFields(fields));
  if (const auto* none = std::get_if<NoProblem>(&result)) return none->reason;
  const auto& problem = std::get<TracedProblem>(result);
  std::string text = std::string(problem.op->kind()) + "/" + problem.op->Problem() + " " +
                     std::string(NameOf(problem.execution.pass)) + " ";
  text += SettledProblem{problem.execution, problem.layouts, problem.algorithm}.Words();
  return problem.logged_reason.empty() ? text : text + ", because " + problem.logged_reason;
}

}  // namespace topdnn
