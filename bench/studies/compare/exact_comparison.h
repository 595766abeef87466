// The comparison of exact counts (bench/profile/exact_counts.h), stage by stage. Two runs of one
// program have equal counts, so every difference is one of the programs: there is no test.

#ifndef TOPDNN_BENCH_STUDIES_COMPARE_EXACT_COMPARISON_H_
#define TOPDNN_BENCH_STUDIES_COMPARE_EXACT_COMPARISON_H_

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace topdnn {

// The counts that have a column, and an option --fail-above-NAME. The others decide only whether
// two stages are equal.
inline constexpr std::array kComparedCounts = {"instructions", "flops", "loads",
                                               "stores",       "bytes", "branches"};

// By name: those of kComparedCounts, "load_bytes", "branches_taken", "f32_512", ...
using NamedCounts = std::map<std::string, std::uint64_t>;

struct ComparedLoop {
  std::string code{};  // a hash
  std::string place{};
  std::uint64_t iterations = 0, entries = 0, instructions = 0;
  std::vector<std::string> listing{};
};

// Two loops that are the same place of the program in other code or with other iterations; or one
// that only one side has.
struct LoopChange {
  std::optional<ComparedLoop> a{}, b{};

  std::int64_t instructions() const;  // executed in B minus those in A
};

struct ExactRow {
  std::string name{}, pass{};
  std::optional<NamedCounts> a{}, b{};  // absent: not counted, or only on the other side
  std::string absent{};                 // why a side is absent; or empty
  bool uncounted = false;               // a side has the stage, and could not count it
  std::vector<LoopChange> loops{};      // that differ, with the largest difference first

  bool Differs() const { return !uncounted && a != b; }
  std::string Label() const;  // "conv1 backward data"
};

struct ExactComparison {
  std::vector<ExactRow> rows;            // in the order of A, then those that only B has
  std::vector<std::string> differences;  // of the settings, one line each

  std::size_t Different() const;
  std::size_t Uncounted() const;
  // The sums over the stages that both sides counted or that only one has.
  ExactRow Step() const;
  std::string Verdict() const;  // "same", "different", "cannot tell" (if a stage was not counted)
};

// The largest growth of each count that is accepted, as a fraction, by name.
using GrowthLimits = std::map<std::string, double>;

// What grew by more, in one line each: of the step, and of each stage that both sides have.
std::vector<std::string> Exceeded(const ExactComparison& comparison, const GrowthLimits& limits);

// B / A - 1; absent: A is 0 and B is not.
std::optional<double> GrowthOf(std::uint64_t a, std::uint64_t b);

// The file that `profile --exact-baseline` writes.
struct Baseline {
  std::string path;
  nlohmann::ordered_json json;  // discarded if it is no JSON
};

// Throws if the file cannot be read.
Baseline ReadBaseline(const std::string& path);

// Throws UsageError, in one line, for files without exact counts, and for other work, another CPU
// and other versions of the libraries.
ExactComparison CompareExact(const Baseline& a, const Baseline& b);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COMPARE_EXACT_COMPARISON_H_
