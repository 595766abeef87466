#include "bench/studies/compare/exact_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/formats/whole_file.h"
#include "bench/profile/exact_counts.h"
#include "harness/text/nested_json.h"
#include "harness/text/one_line.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kReadFormat = 1;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

// A stage of one side.
struct CountedStage {
  std::string name{}, pass{}, reason{};
  std::optional<NamedCounts> counts{};
  std::vector<ComparedLoop> loops{};
};

NamedCounts CountsOf(const Json& json) {
  NamedCounts counts;
  for (const auto& [name, value] : json.items()) {
    if (value.is_object()) {
      for (const auto& [part, number] : value.items()) counts[part] = number.get<std::uint64_t>();
    } else {
      counts[name] = value.get<std::uint64_t>();
    }
  }
  counts["bytes"] = counts["load_bytes"] + counts["store_bytes"];
  return counts;
}

CountedStage StageOf(const Json& json, const Json& code) {
  CountedStage stage{.name = json.at("name").get<std::string>(),
                     .pass = json.at("pass").get<std::string>()};
  if (json.at("counts").is_null()) {
    stage.reason = json.at("reason").get<std::string>();
    return stage;
  }
  stage.counts = CountsOf(json.at("counts"));
  for (const Json& loop : json.at("loops")) {
    const auto name = loop.at("code").get<std::string>();
    stage.loops.push_back({.code = name,
                           .place = code.at(name).at("place").get<std::string>(),
                           .iterations = loop.at("iterations").get<std::uint64_t>(),
                           .entries = loop.at("entries").get<std::uint64_t>(),
                           .instructions = loop.at("instructions").get<std::uint64_t>(),
                           .listing = code.at(name).at("listing").get<std::vector<std::string>>()});
  }
  return stage;
}

std::vector<CountedStage> StagesOf(const Json& counts, const std::string& path) {
  try {
    std::vector<CountedStage> stages;
    const Json code = counts.value("code", Json::object());
    for (const Json& stage : counts.at("stages")) stages.push_back(StageOf(stage, code));
    return stages;
  } catch (const Json::exception& e) {
    throw UsageError(
        fmt::format("{}: {}: damaged, write it again: {}", path, kExactCounts, OneLine(e.what())));
  }
}

// ---- The loops that differ.

// How badly two loops fit: another function first, then the ratio of their instructions.
std::pair<bool, double> Unlikeness(const ComparedLoop& a, const ComparedLoop& b) {
  const double ratio = static_cast<double>(b.instructions) / static_cast<double>(a.instructions);
  return {a.place != b.place, std::abs(std::log(ratio))};
}

std::vector<LoopChange> ChangedLoops(std::vector<ComparedLoop> a, std::vector<ComparedLoop> b) {
  std::vector<LoopChange> changes;
  const auto take = [](std::vector<ComparedLoop>& from, std::size_t k) {
    ComparedLoop taken = std::move(from[k]);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(k));
    return taken;
  };
  // Equal loops first, then the same code with other iterations, then what is left, from the
  // hottest loop on.
  for (const bool equal : {true, false}) {
    for (std::size_t k = 0; k < a.size();) {
      const auto same = std::find_if(b.begin(), b.end(), [&, equal](const ComparedLoop& other) {
        return other.code == a[k].code && (!equal || std::tie(other.iterations, other.entries) ==
                                                         std::tie(a[k].iterations, a[k].entries));
      });
      if (same == b.end()) {
        ++k;
        continue;
      }
      ComparedLoop of_b = take(b, static_cast<std::size_t>(same - b.begin()));
      ComparedLoop of_a = take(a, k);
      if (!equal) changes.push_back({std::move(of_a), std::move(of_b)});
    }
  }
  while (!a.empty() && !b.empty()) {
    const auto fits = std::min_element(b.begin(), b.end(), [&](const auto& x, const auto& y) {
      return Unlikeness(a.front(), x) < Unlikeness(a.front(), y);
    });
    ComparedLoop of_b = take(b, static_cast<std::size_t>(fits - b.begin()));
    changes.push_back({take(a, 0), std::move(of_b)});
  }
  for (ComparedLoop& loop : a) changes.push_back({std::move(loop), std::nullopt});
  for (ComparedLoop& loop : b) changes.push_back({std::nullopt, std::move(loop)});
  std::stable_sort(changes.begin(), changes.end(), [](const LoopChange& x, const LoopChange& y) {
    return std::abs(x.instructions()) > std::abs(y.instructions());
  });
  return changes;
}

// ---- Stages.

ExactRow RowOf(CountedStage* a, CountedStage* b) {
  const CountedStage& any = a != nullptr ? *a : *b;
  ExactRow row{.name = any.name, .pass = any.pass};
  if (a != nullptr) row.a = a->counts;
  if (b != nullptr) row.b = b->counts;
  if (a == nullptr || b == nullptr) {
    row.absent = a == nullptr ? "only in B" : "only in A";
    row.uncounted = !any.counts;
  } else if (!a->counts || !b->counts) {
    row.absent = fmt::format("not counted in {}: {}", a->counts ? "B" : "A",
                             a->counts ? b->reason : a->reason);
    row.uncounted = true;
  } else {
    row.loops = ChangedLoops(std::move(a->loops), std::move(b->loops));
  }
  return row;
}

// Pairs the stages by name and pass; of several, each with the next one.
void AddRows(std::vector<CountedStage> a, std::vector<CountedStage> b,
             std::vector<ExactRow>& rows) {
  std::vector<bool> paired(b.size(), false);
  for (CountedStage& stage : a) {
    std::size_t k = 0;
    while (k < b.size() && (paired[k] || b[k].name != stage.name || b[k].pass != stage.pass)) ++k;
    if (k < b.size()) paired[k] = true;
    rows.push_back(RowOf(&stage, k < b.size() ? &b[k] : nullptr));
  }
  for (std::size_t k = 0; k < b.size(); ++k) {
    if (!paired[k]) rows.push_back(RowOf(nullptr, &b[k]));
  }
}

// ---- What must be equal.

const Json& CountsIn(const Json& baseline, const std::string& path) {
  const auto counts = baseline.find(kExactCounts);
  if (counts == baseline.end() || !counts->is_object()) {
    throw UsageError(fmt::format(
        "{}: has no exact counts: write it with `topdnn profile --exact-baseline FILE`", path));
  }
  if (counts->value("format", Json()) != kReadFormat) {
    throw UsageError(
        fmt::format("{}: {}: format {}, but this topdnn reads format {}: write it "
                    "again with this version",
                    path, kExactCounts, counts->value("format", Json()).dump(), kReadFormat));
  }
  return *counts;
}

std::string ShortText(const Json& value) {
  return OneLine(value.is_string() ? value.get<std::string>() : value.dump());
}

// Other values of these are other work or other code, and no change of the program.
constexpr const char* kMustBeEqual[] = {"/subject/network",
                                        "/subject/mode",
                                        "/subject/batch",
                                        "/cpu/vendor",
                                        "/cpu/family",
                                        "/cpu/model",
                                        "/cpu/isa",
                                        "/cpu/l1_bytes",
                                        "/cpu/l2_bytes",
                                        "/libraries/onednn/version",
                                        "/libraries/onednn/isa",
                                        "/libraries/openblas/config",
                                        "/libraries/openblas/core",
                                        "/libraries/eigen/version"};

// Throws UsageError for another value of kMustBeEqual; adds a line for each other difference.
void CheckSettings(const Json& a, const Json& b, std::vector<std::string>& differences) {
  Json values[2];
  for (const char* part : {"subject", "cpu", "libraries"}) {
    values[0][part] = a.value(part, Json::object());
    values[1][part] = b.value(part, Json::object());
  }
  const auto at = [](const Json& json, const std::string& pointer) {
    const Json::json_pointer place(pointer);
    return json.contains(place) ? json.at(place) : Json();
  };
  for (const char* pointer : kMustBeEqual) {
    const Json in_a = at(values[0], pointer);
    const Json in_b = at(values[1], pointer);
    if (in_a == in_b) continue;
    const std::string what = WordsOf(std::string(pointer).substr(1));
    const bool work = what.starts_with("subject");
    throw UsageError(fmt::format(
        "compare --exact: {} is {} in A and {} in B: {}", what.substr(what.find('/') + 1),
        ShortText(in_a), ShortText(in_b),
        work ? "exact counts of other work differ in any case: compare the same network, mode and "
               "batch"
             : "libraries choose other code there: record the baseline on this CPU, with these "
               "libraries"));
  }
  Json flat_a = values[0].flatten();
  const Json flat_b = values[1].flatten();
  for (const auto& [key, value] : flat_b.items()) flat_a.emplace(key, Json());
  for (const auto& [key, value] : flat_a.items()) {
    const Json other = flat_b.value(key, Json());
    if (value == other || key == "/cpu/brand") continue;
    differences.push_back(fmt::format("{}: {} in A, {} in B", OneLine(key.substr(1)),
                                      ShortText(value), ShortText(other)));
  }
}

}  // namespace

std::int64_t LoopChange::instructions() const {
  return static_cast<std::int64_t>(b ? b->instructions : 0) -
         static_cast<std::int64_t>(a ? a->instructions : 0);
}

std::string ExactRow::Label() const { return name + " " + WordsOf(pass); }

std::size_t ExactComparison::Different() const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const ExactRow& row) { return row.Differs(); }));
}

std::size_t ExactComparison::Uncounted() const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const ExactRow& row) { return row.uncounted; }));
}

ExactRow ExactComparison::Step() const {
  ExactRow step{.name = "step", .pass = "step", .a = NamedCounts(), .b = NamedCounts()};
  for (const ExactRow& row : rows) {
    if (row.uncounted) continue;
    for (const auto& [name, count] : row.a.value_or(NamedCounts())) (*step.a)[name] += count;
    for (const auto& [name, count] : row.b.value_or(NamedCounts())) (*step.b)[name] += count;
  }
  return step;
}

std::string ExactComparison::Verdict() const {
  if (Different() > 0) return "different";
  return Uncounted() > 0 ? "cannot tell" : "same";
}

std::optional<double> GrowthOf(std::uint64_t a, std::uint64_t b) {
  if (a == b) return 0;
  if (a == 0) return std::nullopt;
  return (static_cast<double>(b) - static_cast<double>(a)) / static_cast<double>(a);
}

std::vector<std::string> Exceeded(const ExactComparison& comparison, const GrowthLimits& limits) {
  std::vector<std::string> lines;
  std::vector<ExactRow> rows = comparison.rows;
  rows.insert(rows.begin(), comparison.Step());
  for (const ExactRow& row : rows) {
    if (row.uncounted || !row.a || !row.b) continue;
    for (const auto& [name, limit] : limits) {
      const auto in_a = row.a->find(name);
      const auto in_b = row.b->find(name);
      if (in_a == row.a->end() || in_b == row.b->end()) continue;
      const std::optional<double> growth = GrowthOf(in_a->second, in_b->second);
      if (growth && !(*growth > limit)) continue;
      const std::string grew = growth ? fmt::format("grew by {:.3g} %", *growth * 100) : "are new";
      lines.push_back(fmt::format("above the limit of {:.3g} %: {}: {} {}", limit * 100,
                                  row.pass == "step" ? "the step" : row.Label(), name, grew));
    }
  }
  return lines;
}

Baseline ReadBaseline(const std::string& path) {
  return {path, ParseForeignJson<Json>(ReadWholeFile(path, kMostBytes))};
}

ExactComparison CompareExact(const Baseline& a, const Baseline& b) {
  ExactComparison comparison;
  const Json& in_a = CountsIn(a.json, a.path);
  const Json& in_b = CountsIn(b.json, b.path);
  CheckSettings(in_a, in_b, comparison.differences);
  AddRows(StagesOf(in_a, a.path), StagesOf(in_b, b.path), comparison.rows);
  return comparison;
}

}  // namespace topdnn
