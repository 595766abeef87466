// `topdnn compare A B`: which stages differ between two results, and by how much.

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/interrupt.h"
#include "bench/studies/compare/compared_results.h"
#include "bench/studies/compare/comparison.h"
#include "bench/studies/compare/comparison_report.h"
#include "bench/studies/compare/exact_comparison.h"
#include "bench/studies/compare/exact_report.h"
#include "bench/studies/compare/rerun.h"
#include "bench/studies/results/result_file.h"
#include "harness/files/atomic_file.h"
#include "harness/report/publish_result.h"
#include "harness/text/one_line.h"
#include "harness/text/parse_number.h"
#include "harness/text/style.h"

namespace topdnn {

namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  std::string json;
  std::optional<std::string> fail_above;
  bool exact = false;
  std::map<std::string, std::optional<std::string>> growth_limits;  // by kComparedCounts
  bool all = false;
  bool rerun = false;
  std::optional<std::int64_t> repeats;
  std::string program_a;
  std::string program_b;
};

constexpr std::int64_t kRepeats = 5;

// Throws UsageError if options of --rerun are given without --rerun.
void CheckRerun(const CompareOptions& options) {
  const bool any = options.repeats || !options.program_a.empty() || !options.program_b.empty();
  if (any && !options.rerun) {
    throw UsageError(
        "--repeats, --program-a and --program-b: nothing runs without --rerun: add it");
  }
}

void MeasureAgain(const CompareOptions& options, ComparedResults& results) {
  if (results.kind == ResultKind::kGoogleBenchmark) {
    throw UsageError("--rerun: Google Benchmark's JSON records no command: give profiles");
  }
  if (results.kind == ResultKind::kTrace) {
    throw UsageError("--rerun: a trace's command may run a whole framework: give profiles");
  }
  InterruptFlag();
  ProgressLine progress(DetectStyle(stderr));
  Rerun({.repeats = static_cast<int>(options.repeats.value_or(kRepeats)),
         .program_a = options.program_a,
         .program_b = options.program_b,
         .progress = [&](const std::string& what, double) { progress.Show(what); }},
        results);
}

// The fraction of "3" or "3%", the value of the option.
std::optional<double> FractionOf(const std::string& option,
                                 const std::optional<std::string>& percent) {
  if (!percent) return std::nullopt;
  std::string_view number = *percent;
  if (number.ends_with('%')) number.remove_suffix(1);
  const auto value = ParseNumber<double>(number);
  constexpr double kMost = 1e6;
  if (!(value >= 0 && value <= kMost)) {
    throw UsageError(
        fmt::format("{} {}: must be a percentage of 0 or more, such as 3%", option, *percent));
  }
  return *value / 100;
}

std::string LimitOption(const std::string& count) { return "--fail-above-" + count; }

// Throws UsageError if an option does not go with --exact, or not without it.
void CheckExact(const CompareOptions& options) {
  if (options.exact && options.fail_above) {
    throw UsageError("--fail-above: --exact compares no times: give --fail-above-instructions");
  }
  if (options.exact && options.rerun) {
    throw UsageError("--rerun: measures times, and --exact compares none: leave one of them out");
  }
  for (const auto& [count, limit] : options.growth_limits) {
    if (limit && !options.exact) {
      throw UsageError(LimitOption(count) + ": compares exact counts: add --exact");
    }
  }
}

int RunExact(const CompareOptions& options) {
  GrowthLimits limits;
  for (const auto& [count, limit] : options.growth_limits) {
    const std::optional<double> fraction = FractionOf(LimitOption(count), limit);
    if (fraction) limits[count] = *fraction;
  }
  const ExactComparison comparison = CompareExact(ReadBaseline(options.a), ReadBaseline(options.b));
  const std::vector<std::string> exceeded = Exceeded(comparison, limits);
  const auto text = [&](const Style& style) {
    std::string shown = ExactText(comparison, options.all, style);
    for (const std::string& line : exceeded) shown += OneLine(line) + "\n";
    return shown;
  };
  PublishResult(
      options.json, [&] { return ExactJson(comparison, options.a, options.b); }, text);
  if (!exceeded.empty()) return kExitWrong;
  return !limits.empty() && comparison.Uncounted() > 0 ? kExitCannotTell : kExitGood;
}

Comparison CompareTimes(const CompareOptions& options) {
  try {
    ComparedResults results = PairResults(ReadResult(options.a), ReadResult(options.b));
    if (options.rerun) MeasureAgain(options, results);
    return CompareResults(results);
  } catch (const nlohmann::json::exception&) {
    throw UsageError(
        fmt::format("{} or {}: a key has another type than topdnn writes: write the results again "
                    "with topdnn",
                    options.a, options.b));
  }
}

int RunCompare(const CompareOptions& options) {
  const std::optional<double> fail_above = FractionOf("--fail-above", options.fail_above);
  CheckOutputs({options.json}, {options.a, options.b});
  CheckRerun(options);
  CheckExact(options);
  if (options.exact) return RunExact(options);
  Comparison comparison = CompareTimes(options);
  if (fail_above) comparison.limit = *fail_above;
  PublishResult(
      options.json, [&] { return ComparisonJson(comparison, options.a, options.b); },
      [&](const Style& style) { return ComparisonText(comparison, options.all, style); });
  if (!fail_above) return kExitGood;
  if (comparison.SlowerThan(*fail_above)) return kExitWrong;
  return comparison.CannotTellSlowdown() ? kExitCannotTell : kExitGood;
}

std::function<int()> ConfigureCompare(CommandParser& parser) {
  auto options = std::make_shared<CompareOptions>();
  parser.Require(
      "A FILE", options->a,
      "a profile's JSON, a sweep's folder, a trace's JSON, Google Benchmark's JSON, or with "
      "--exact a baseline");
  parser.Require("B FILE", options->b, "the result to compare with A, of the same kind");
  parser.Add("--fail-above PERCENT", options->fail_above,
             "exit with status 1 if the step, or a stage that differs, is slower in B by more than "
             "this: the lower end of the 95 % interval of its ratio is above 1 + PERCENT / 100; "
             "with status 4 if the interval holds that");
  parser.AddFlag(
      "--exact", options->exact,
      "compare what the stages execute, in two files of profile --exact-baseline, instead "
      "of times");
  for (const char* count : kComparedCounts) {
    parser.Add(LimitOption(count) + " PERCENT", options->growth_limits[count],
               fmt::format("with --exact, exit with status 1 if the {} of the step or of a stage "
                           "grew by more than this",
                           count));
  }
  parser.AddFlag("--all", options->all, "print all rows and ceilings, not only the longest");
  parser.AddFlag("--rerun", options->rerun,
                 "run the commands of both profiles again on this machine, in turns, and compare "
                 "the processes");
  constexpr Range kRange{2, 1000};
  parser.Add("--repeats", options->repeats,
             fmt::format("processes a side with --rerun (default: {})", kRepeats), kRange);
  parser.Add("--program-a FILE", options->program_a,
             "the topdnn that --rerun runs for A (default: this one)");
  parser.Add("--program-b FILE", options->program_b, "the same for B");
  parser.Add("--json FILE", options->json,
             "write the comparison to this file as JSON; - is standard output");
  return [options] { return RunCompare(*options); };
}

const CommandRegistration kCompare({"compare", Question::kCompare,
                                    "which stages differ between two results, and by how much",
                                    ConfigureCompare, "topdnn compare before.json after.json"});

}  // namespace

}  // namespace topdnn
