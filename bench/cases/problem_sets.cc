#include "bench/cases/problem_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "bench/command_line/command.h"
#include "kernels/op/problem.h"
#include "kernels/op/registrations.h"
#include "networks/graph/zoo.h"

namespace topdnn {

namespace {

// By name of the set.
constinit Registrations<std::string, std::string_view> texts("problem set");

class SetReader {
 public:
  SetReader(std::string name, std::string_view origin) : origin_(origin) {
    set_.name = std::move(name);
  }

  void ReadLine(std::string line) {
    ++line_;
    line.erase(std::find(line.begin(), line.end(), '#'), line.end());
    std::istringstream words(line);
    std::string first;
    if (!(words >> first)) return;
    if (first == "passes:") {
      ReadPasses(words);
    } else {
      ReadProblem(first, words);
    }
  }

  ProblemSet Take() {
    if (set_.problems.empty()) Refuse("it names no problem");
    return std::move(set_);
  }

 private:
  [[noreturn]] void Refuse(std::string_view why) const {
    throw UsageError(fmt::format("{}, line {}: {}", origin_, line_, why));
  }

  void ReadPasses(std::istringstream& words) {
    passes_.clear();
    std::string word;
    while (words >> word) {
      const std::optional<Pass> pass = ParsePass(word);
      if (!pass) {
        Refuse(fmt::format("'{}' is not a pass; use forward, backward_data or backward_weights",
                           word));
      }
      passes_.push_back(*pass);
      set_.training |= *pass != Pass::kForward;
    }
    if (passes_.empty())
      Refuse("'passes:' has no pass; use forward, backward_data or backward_weights");
  }

  void ReadProblem(const std::string& text, std::istringstream& words) {
    CountedProblem problem{nullptr, 1, passes_};
    try {
      problem.op = ParseProblem(text);
    } catch (const ProblemError& error) {
      Refuse(error.what());
    }
    bool counted = false;
    for (std::string word; words >> word;) {
      if (word.find('=') != std::string::npos) {
        ReadSettled(word, problem);
      } else if (std::exchange(counted, true)) {
        Refuse(fmt::format("unexpected word '{}'", word));
      } else {
        ReadCount(word, problem);
      }
    }
    if (problem.settled) CheckSettled(problem);
    set_.problems.push_back(std::move(problem));
  }

  void ReadCount(const std::string& word, CountedProblem& problem) {
    const char* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data() + 1, last, problem.count);
    if (word.front() != 'x' || error != std::errc() || end != last || problem.count < 1) {
      Refuse(fmt::format("'{}' after the problem is not a count such as x3", word));
    }
  }

  // One of "type=f32", "mode=train", "algorithm=winograd" and "OPERAND=LAYOUT".
  void ReadSettled(const std::string& word, CountedProblem& problem) {
    if (!problem.settled) {
      if (problem.passes.size() != 1) {
        Refuse(fmt::format("'{}' settles one pass: write 'passes:' with one pass above", word));
      }
      problem.settled.emplace().execution = {problem.passes.front(), true, DataType::kF32};
    }
    SettledProblem& settled = *problem.settled;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    if (name == "type") {
      const std::optional<DataType> type = ParseDataType(value);
      if (!type) Refuse(fmt::format("'{}' is not an element type such as f32", value));
      settled.execution.type = *type;
    } else if (name == "mode") {
      if (value != "train" && value != "infer") {
        Refuse(fmt::format("'{}' is not a mode; use train or infer", value));
      }
      settled.execution.training = value == "train";
    } else if (name == "algorithm") {
      settled.algorithm = value;
    } else {
      ReadLayout(name, value, problem);
    }
  }

  // The type and the mode, which precede it, tell which operands there are.
  void ReadLayout(const std::string& name, const std::string& value, CountedProblem& problem) {
    for (const Operand& operand : problem.op->Operands(problem.settled->execution)) {
      if (NameOf(operand.arg) != name) continue;
      const std::optional<Layout> layout = Layout::Parse(value);
      if (!layout || !Suits(value, operand.shape.rank())) {
        Refuse(fmt::format("'{}' is not a layout of {} dimensions, such as {}", value,
                           operand.shape.rank(), Layout::Plain(operand.shape.rank()).tag()));
      }
      problem.settled->layouts[operand.arg] = *layout;
      return;
    }
    Refuse(fmt::format("'{}' is no operand of {} in {}; write the type and the mode before it",
                       name, problem.op->kind(), NameOf(problem.settled->execution.pass)));
  }

  // Whether a layout's tag has `rank` dimensions.
  static bool Suits(const std::string& tag, int rank) {
    const auto letters = std::find_if(tag.begin(), tag.end(), [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) == 0;
    });
    return letters - tag.begin() == rank;
  }

  void CheckSettled(const CountedProblem& problem) {
    const Execution& execution = problem.settled->execution;
    if (problem.op->Has(execution)) return;
    Refuse(fmt::format("{} has no pass {} in {}", problem.op->kind(), NameOf(execution.pass),
                       NameOf(execution.type)));
  }

  ProblemSet set_;
  std::string_view origin_;
  std::int64_t line_ = 0;
  std::vector<Pass> passes_ = CountedProblem().passes;
};

// A network's own layers, each problem once. The batch is larger for small images, such as CIFAR's.
ProblemSet LayersOf(const NetworkOffer& offer) {
  ProblemSet set;
  set.name = offer.FullName() + "-layers";
  set.training = true;
  const std::int64_t batch = offer.image[1] <= 64 ? 128 : 8;
  const Graph graph = offer.build({batch, offer.image, offer.classes});
  for (const GraphNode& node : graph.nodes()) {
    const auto same = [&](const CountedProblem& known) {
      return known.op->kind() == node.op->kind() && known.op->Problem() == node.op->Problem();
    };
    const auto known = std::find_if(set.problems.begin(), set.problems.end(), same);
    if (known != set.problems.end()) {
      ++known->count;
      continue;
    }
    set.problems.push_back({.op = node.op});
  }
  return set;
}

}  // namespace

KernelRequest SettledProblem::RequestFor(std::shared_ptr<const Op> op, int threads) const {
  KernelRequest request;
  request.op = std::move(op);
  request.execution = execution;
  request.threads = threads;
  request.layouts = layouts;
  request.algorithm = algorithm;
  return request;
}

std::string SettledProblem::Words() const {
  std::string text = fmt::format("type={} mode={}", NameOf(execution.type),
                                 execution.training ? "train" : "infer");
  if (!algorithm.empty()) text += " algorithm=" + algorithm;
  for (const auto& [arg, layout] : layouts) {
    text += fmt::format(" {}={}", NameOf(arg), layout.tag());
  }
  return text;
}

ProblemSetRegistration::ProblemSetRegistration(std::string_view name, std::string_view text) {
  texts.Add(std::string(name), text);
}

ProblemSet ParseProblemSet(std::string name, std::string_view text, std::string_view origin) {
  SetReader reader(std::move(name), origin);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) reader.ReadLine(std::move(line));
  return reader.Take();
}

std::vector<ProblemSet> ProblemSets() {
  std::map<std::string, ProblemSet> sets;
  for (const NetworkOffer& offer : Networks()) {
    ProblemSet set = LayersOf(offer);
    sets.emplace(set.name, std::move(set));
  }
  for (const std::string& name : texts.Keys()) {
    sets.insert_or_assign(
        name, ParseProblemSet(name, *texts.Find(name), "bench/problems/" + name + ".txt"));
  }
  std::vector<ProblemSet> all;
  all.reserve(sets.size());
  for (auto& [name, set] : sets) all.push_back(std::move(set));
  return all;
}

ProblemSet ProblemSetNamed(std::string_view name) {
  for (ProblemSet& set : ProblemSets()) {
    if (set.name == name) return std::move(set);
  }
  throw std::out_of_range(fmt::format("there is no problem set {}", name));
}

}  // namespace topdnn
