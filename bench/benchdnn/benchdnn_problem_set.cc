#include "bench/benchdnn/benchdnn_problem_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/benchdnn/benchdnn_batch.h"
#include "bench/command_line/command.h"
#include "bench/formats/whole_file.h"
#include "bench/log/translate/traced_problem.h"

namespace topdnn {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

std::string ReadText(const std::string& path) { return ReadWholeFile(path, kMaxBytes); }

// The types of the tensors, the dimensions of a bias, and the parameters of the function.
std::string DetailsOf(const TraceRow& row) {
  std::string text;
  for (const TracedTensor& tensor : row.tensors) {
    text += fmt::format("_{}:{}", tensor.name, tensor.type);
    if (tensor.mask >= 0) text += fmt::format(":mask{}", tensor.mask);
  }
  if (!row.auxiliary.empty()) text += "_" + row.auxiliary;
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

void AddRows(const std::vector<TraceRow>& rows, ProblemSet& set) {
  for (const TraceRow& row : rows) {
    std::variant<TracedProblem, NoProblem> found = ProblemOf(row);
    if (auto* none = std::get_if<NoProblem>(&found)) {
      std::string name = fmt::format("{}/{}/{}", row.primitive, row.problem, row.prop_kind);
      if (!row.tensors.empty()) name += "/" + row.tensors.front().type;
      set.refused.push_back({std::move(name), std::move(none->reason)});
      continue;
    }
    TracedProblem& problem = std::get<TracedProblem>(found);
    set.training |= problem.execution.training;
    const Execution execution = problem.execution;
    // (the name of an operation of topdnn says all of it)
    std::string details = problem.logged_reason.empty() ? "" : DetailsOf(row);
    set.problems.push_back({.op = std::move(problem.op),
                            .count = row.count,
                            .passes = {execution.pass},
                            .settled = SettledProblem{execution, std::move(problem.layouts),
                                                      problem.algorithm, std::move(details)}});
  }
}

}  // namespace

void AddBenchdnnProblems(std::string_view text, const std::string& origin, ProblemSet& set) {
  const std::size_t before = set.problems.size() + set.refused.size();
  AddRows(ParseBenchdnnText(text, origin, /*is_file=*/false, ReadText), set);
  if (set.problems.size() + set.refused.size() == before) {
    throw UsageError(fmt::format("{}: it names no problem", origin));
  }
}

ProblemSet ReadAnyProblemSet(const std::string& path, std::size_t first) {
  const std::string name = std::filesystem::path(path).stem();
  const std::string text = ReadText(path);
  if (!IsBenchdnnText(text)) {
    ProblemSet set = ParseProblemSet(name, text, path);
    set.problems.resize(std::min(set.problems.size(), first));
    return set;
  }
  ProblemSet set{.name = name, .problems = {}};
  BenchdnnText read = ParseBenchdnnFile(text, path, ReadText, first);
  AddRows(read.rows, set);
  for (BenchdnnRefusal& one : read.refused) {
    set.refused.push_back({std::move(one.problem), std::move(one.reason)});
  }
  if (set.problems.empty() && set.refused.empty()) {
    throw UsageError(fmt::format("{}: it names no problem", path));
  }
  return set;
}

}  // namespace topdnn
