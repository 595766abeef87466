#include "bench/cases/problem_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>

#include "bench/command_line/command.h"
#include "bench/formats/whole_file.h"
#include "kernels/problem.h"
#include "kernels/registrations.h"
#include "networks/zoo/zoo.h"

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
    std::string word;
    if (words >> word) {
      const char* const last = word.data() + word.size();
      const auto [end, error] = std::from_chars(word.data() + 1, last, problem.count);
      if (word.front() != 'x' || error != std::errc() || end != last || problem.count < 1) {
        Refuse(fmt::format("'{}' after the problem is not a count such as x3", word));
      }
    }
    if (words >> word) Refuse(fmt::format("unexpected word '{}'", word));
    set_.problems.push_back(std::move(problem));
  }

  ProblemSet set_;
  std::string_view origin_;
  std::int64_t line_ = 0;
  std::vector<Pass> passes_ = CountedProblem().passes;
};

// A network's own layers, each problem once. Images as small as CIFAR's come in large batches.
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

ProblemSetRegistration::ProblemSetRegistration(std::string_view name, std::string_view text) {
  texts.Add(std::string(name), text);
}

ProblemSet ParseProblemSet(std::string name, std::string_view text, std::string_view origin) {
  SetReader reader(std::move(name), origin);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) reader.ReadLine(std::move(line));
  return reader.Take();
}

ProblemSet ReadProblemSet(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  return ParseProblemSet(std::filesystem::path(path).stem(), ReadWholeFile(path, kMaxBytes), path);
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
