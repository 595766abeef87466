// Two results for a comparison: the runs of each, stage by stage, paired by configuration.

#ifndef TOPDNN_BENCH_STUDIES_COMPARE_COMPARED_RESULTS_H_
#define TOPDNN_BENCH_STUDIES_COMPARE_COMPARED_RESULTS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/studies/results/result_file.h"
#include "harness/statistics/time_differences.h"

namespace topdnn {

// Stages with fewer FLOPs a byte depend on the placement of their pages and on the neighbours'
// traffic more than on the arithmetic. 23 profiles of one build on a virtual machine with other
// work: a run's median differed from that of the others by 4 to 9 % (standard deviation), and by
// 0.3 to 1.2 % for stages with more FLOPs a byte (without the shortest ones).
inline constexpr double kFlopsPerByte = 8;
inline constexpr double kSpreadOfMovedData = 0.06;  // of the log ratio of two runs
inline constexpr double kSpreadOfArithmetic = 0.008;
// A stage that moves more bytes than L1 has, and less than twice those of L2, or about as many as
// the last cache has: the placement of its pages decides how many of its lines a cache keeps. In 10
// of 40 pairs of runs of one build, updates of 0.4 to 1.3 MB took 1.4 to 2.6 times as long in one
// run as in the other (L2 of 1 MiB).
inline constexpr double kSpreadInCaches = 0.45;

// A stage (or the step) in one run.
struct StageTimes {
  std::string name{};
  std::string pass{};    // "forward", ...; "step"; empty: a row of Google Benchmark
  RunTimes times{};      // of its iterations, in order; empty: not measured, the reason says why
  std::string status{};  // "OK", "DEGRADED", ...
  std::string reason{};
  double spread = kSpreadOfArithmetic;  // of the log ratio of two runs, at least
  std::optional<double> peak{};         // share of its machine's ceiling
  double speed = 1;                     // the lowest that a probe saw, of the best known
  bool no_interval = false;             // of a live run: no interval of its median
  // Of a live run: "runs", and the counters of one of them, by name.
  std::vector<std::pair<std::string, std::optional<double>>> counts{};
};

struct ComparedRun {
  std::string command{};           // that measured it; empty: not known
  std::string isa{};               // of a sweep's case, which its command does not have
  nlohmann::ordered_json about{};  // the result without its stages: machine, network, batch, ...
  std::vector<StageTimes> stages{};
  std::vector<StageTimes> step{};  // one, or none
};

// The runs of one configuration on both sides; at least one a side.
struct ComparedCase {
  std::string name{};  // empty if there is only one
  std::vector<ComparedRun> a{};
  std::vector<ComparedRun> b{};
};

struct ComparedResults {
  ResultKind kind = ResultKind::kProfile;
  std::vector<ComparedCase> cases{};
  std::vector<std::string> unpaired{};  // what only one of the two has, one line each
};

// Throws UsageError if the results are of different kinds or of a kind without times, or if they
// have no case in common.
ComparedResults PairResults(const ResultFile& a, const ResultFile& b);

// The run in a profile's JSON.
ComparedRun RunOfProfile(const nlohmann::ordered_json& profile);
// The run in a trace's JSON. Each row is a stage, named after its primitive, problem, layouts,
// attributes, module and operator. Its times are those of one execution: here, without the operands
// in the caches; with `live` in the program, and the step is the program's without the first one.
ComparedRun RunOfTrace(const nlohmann::ordered_json& trace, bool live = false);

// Fewer executions of a row in a program do not show how much they vary.
inline constexpr std::size_t kLeastLiveRuns = 5;

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COMPARE_COMPARED_RESULTS_H_
