#include "bench/command_line/benchmark_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/command_line/command.h"
#include "bench/command_line/nearest.h"
#include "harness/report/exports/csv.h"
#include "harness/text/parse_number.h"

namespace topdnn {

namespace {

enum class Kind { kText, kChoice, kBool, kWhole, kNumber, kTimeOrCount };

struct Flag {
  std::string_view name;
  Kind kind = Kind::kText;
  double least = 0;
  double most = 0;
  std::string_view choices = {};  // separated by blanks
};

constexpr double kMaxSeconds = 1e6;
constexpr double kMaxCount = 1e6;
constexpr std::string_view kBools = "true false yes no on off 1 0";

constexpr std::array kFlags = {
    Flag{"benchmark_list_tests", Kind::kBool},
    Flag{"benchmark_filter"},
    Flag{"benchmark_dry_run", Kind::kBool},
    Flag{"benchmark_min_time", Kind::kTimeOrCount, 1e-9, kMaxSeconds},
    Flag{"benchmark_min_warmup_time", Kind::kNumber, 0, kMaxSeconds},
    Flag{"benchmark_repetitions", Kind::kWhole, 1, kMaxCount},
    Flag{"benchmark_enable_random_interleaving", Kind::kBool},
    Flag{"benchmark_report_aggregates_only", Kind::kBool},
    Flag{"benchmark_display_aggregates_only", Kind::kBool},
    Flag{"benchmark_format", Kind::kChoice, 0, 0, "console json csv"},
    Flag{"benchmark_out"},
    Flag{"benchmark_out_format", Kind::kChoice, 0, 0, "json console csv"},
    Flag{"benchmark_color", Kind::kChoice, 0, 0, "auto true false yes no on off 1 0"},
    Flag{"benchmark_counters_tabular", Kind::kBool},
    Flag{"benchmark_perf_counters"},
    Flag{"benchmark_context"},
    Flag{"benchmark_time_unit", Kind::kChoice, 0, 0, "ns us ms s"},
    Flag{"v", Kind::kWhole, 0, kMaxCount},
};

[[noreturn]] void Refuse(const std::string& given, const std::string& why) {
  throw UsageError(fmt::format("bench: {}: {}", given, why));
}

bool IsOneOf(const std::string& value, std::string_view choices) {
  return value.find(' ') == std::string::npos &&
         (" " + std::string(choices) + " ").find(" " + value + " ") != std::string::npos;
}

void CheckNumber(const Flag& flag, const std::string& value, const std::string& given) {
  const auto number = ParseNumber<double>(value);
  const bool whole = flag.kind == Kind::kWhole;
  const bool good =
      number >= flag.least && number <= flag.most && (!whole || *number == std::floor(*number));
  if (good) return;
  Refuse(given, fmt::format("must be a {} from {:g} to {:g}",
                            whole ? "whole number" : "number of seconds", flag.least, flag.most));
}

// "0.5" or "0.5s", or "5x": a number of iterations.
bool IsCount(const std::string& value) { return value.ends_with('x'); }

std::string WithoutUnit(std::string value) {
  if (value.ends_with('s') || value.ends_with('x')) value.pop_back();
  return value;
}

void CheckTimeOrCount(const Flag& flag, const std::string& value, const std::string& given) {
  if (!IsCount(value)) return CheckNumber(flag, WithoutUnit(value), given);
  CheckNumber({flag.name, Kind::kWhole, 1, kMaxCount}, WithoutUnit(value), given);
}

void Check(const Flag& flag, const std::string& value, const std::string& given) {
  switch (flag.kind) {
    case Kind::kText:
      if (value.empty()) Refuse(given, "is empty; give a value, or leave it out");
      return;
    case Kind::kChoice:
      if (!IsOneOf(value, flag.choices)) {
        Refuse(given, fmt::format("must be one of: {}", flag.choices));
      }
      return;
    case Kind::kBool:
      if (!IsOneOf(value, kBools)) Refuse(given, "must be true or false");
      return;
    case Kind::kWhole:
    case Kind::kNumber:
      CheckNumber(flag, value, given);
      return;
    case Kind::kTimeOrCount:
      CheckTimeOrCount(flag, value, given);
  }
}

const Flag& FlagNamed(std::string_view name, const std::string& given) {
  const auto* const found = std::find_if(kFlags.begin(), kFlags.end(),
                                         [&](const Flag& flag) { return flag.name == name; });
  if (found != kFlags.end()) return *found;
  std::vector<std::string> names;
  names.reserve(kFlags.size());
  for (const Flag& flag : kFlags) names.push_back("--" + std::string(flag.name));
  const std::string nearest = NearestName("--" + std::string(name), names);
  throw UsageError(
      fmt::format("bench: no argument '{}'{}; it takes Google Benchmark's, such as "
                  "--benchmark_filter=REGEX and --benchmark_out=FILE",
                  given, nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

bool IsTrue(const std::string& value) { return IsOneOf(value, "true yes on 1"); }

// BENCHMARK_MIN_TIME for benchmark_min_time.
std::string VariableOf(std::string_view name) {
  std::string variable(name);
  for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

void Take(const Flag& flag, const std::string& value, BenchmarkFlags& flags) {
  if (flag.name == "benchmark_list_tests") {
    flags.list = IsTrue(value);
  } else if (flag.name == "benchmark_out") {
    flags.out = value;
  } else if (flag.name == "benchmark_out_format") {
    flags.out_format = value;
  } else if (flag.name == "benchmark_dry_run") {
    flags.dry_run = IsTrue(value);
  } else if (flag.name == "benchmark_min_time") {
    const double number = std::strtod(value.c_str(), nullptr);
    if (IsCount(value)) {
      flags.iterations = static_cast<std::int64_t>(number);
    } else {
      flags.iterations.reset();
      flags.min_time = number;
      flags.passed_on.push_back(fmt::format("--{}={}", flag.name, WithoutUnit(value)));
    }
  } else {
    flags.passed_on.push_back(fmt::format("--{}={}", flag.name, value));
  }
}

// Fields of a JSON row that are not counters and get no column.
const std::set<std::string, std::less<>>& OtherKeys() {
  static const std::set<std::string, std::less<>> keys = {"family_index",
                                                          "per_family_instance_index",
                                                          "run_name",
                                                          "run_type",
                                                          "repetitions",
                                                          "repetition_index",
                                                          "threads",
                                                          "aggregate_name",
                                                          "aggregate_unit",
                                                          "big_o",
                                                          "cpu_coefficient",
                                                          "real_coefficient",
                                                          "rms"};
  return keys;
}

std::string CellOf(const nlohmann::ordered_json& row, const std::string& key) {
  const auto found = row.find(key);
  if (found == row.end() || found->is_null()) return "";
  return CsvField(found->is_string() ? found->get<std::string>() : found->dump());
}

}  // namespace

BenchmarkFlags ReadBenchmarkFlags(const std::vector<std::string>& arguments) {
  BenchmarkFlags flags;
  // The environment comes first, as in Google Benchmark: the arguments override it.
  for (const Flag& flag : kFlags) {
    if (flag.name == "v") continue;
    const std::string variable = VariableOf(flag.name);
    const char* const value = std::getenv(variable.c_str());
    if (value == nullptr) continue;
    Check(flag, value, fmt::format("{}={}", variable, value));
    Take(flag, value, flags);
  }
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const Flag& flag = FlagNamed(name.starts_with("--") ? name.substr(2) : name, argument);
    if (equals == std::string::npos && flag.kind != Kind::kBool) {
      Refuse(argument, fmt::format("give it a value: {}=...", argument));
    }
    const std::string value = equals == std::string::npos ? "true" : argument.substr(equals + 1);
    Check(flag, value, argument);
    Take(flag, value, flags);
  }
  if (flags.dry_run) {
    flags.iterations = 1;
    flags.passed_on.insert(flags.passed_on.end(),
                           {"--benchmark_repetitions=1", "--benchmark_min_warmup_time=0"});
  }
  if (flags.out == "-") {
    Refuse("--benchmark_out=-", "is not a file; for standard output use --benchmark_format=json");
  }
  return flags;
}

std::string CsvOfBenchmarks(std::string_view json) {
  const auto root = nlohmann::ordered_json::parse(json);
  std::vector<std::string> columns = {
      "name",           "iterations",       "real_time",        "cpu_time",
      "time_unit",      "bytes_per_second", "items_per_second", "label",
      "error_occurred", "error_message"};
  for (const auto& row : root.at("benchmarks")) {
    for (const auto& [key, value] : row.items()) {
      const bool known = std::find(columns.begin(), columns.end(), key) != columns.end();
      if (!known && !OtherKeys().contains(key)) columns.push_back(key);
    }
  }
  std::string text;
  const auto add_line = [&text, &columns](const auto& cell) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      text += cell(columns[i]);
    }
    text += '\n';
  };
  add_line([](const std::string& column) { return CsvField(column); });
  for (const auto& row : root.at("benchmarks")) {
    add_line([&row](const std::string& column) { return CellOf(row, column); });
  }
  return text;
}

}  // namespace topdnn
