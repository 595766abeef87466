// Runs the cases of a sweep, each in a separate process, and keeps their results.

#ifndef TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_H_
#define TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/studies/sweep/sweep_axes.h"
#include "bench/studies/sweep/sweep_case.h"
#include "bench/studies/sweep/sweep_folder.h"

namespace topdnn {

struct SweepPlan {
  AxisValues values;
  CaseSettings settings;
  int repeats = 1;
  std::uint64_t seed = 1;  // of the order
  // Of `parts` sweeps that divide the cases, this is number `part`, from 1.
  int part = 1;
  int parts = 1;
};

struct SweepLimits {
  std::optional<double> most_seconds;  // of the whole sweep
  double most_seconds_of_case = 600;
  const std::atomic<bool>* cancel = nullptr;
};

struct SweepProgress {
  std::size_t done = 0, all = 0;
  std::string id;                           // of the case that starts or has ended
  const nlohmann::ordered_json* row;        // of the case that has ended; null: it starts
  std::optional<double> remaining_seconds;  // an estimate from the cases so far
};

// The cases of the plan's part, in the order in which they run.
std::vector<SweepCase> CasesOf(const SweepPlan& plan);

// `rows`, of the index in a sweep's folder, each case once; and a row for each profile of the plan
// that an interrupted sweep finished, but could not add to the index.
nlohmann::ordered_json FinishedRows(const SweepPlan& plan, const nlohmann::ordered_json& rows,
                                    const std::string& folder);

// The index of a plan without rows.
nlohmann::ordered_json NewIndex(const SweepPlan& plan);

// The plan that an index describes. Throws UsageError if it describes none.
SweepPlan PlanOf(const nlohmann::ordered_json& index, const std::string& path);

// Whether a case of this status has a time.
bool IsMeasured(const std::string& status);
// Of a command that ends with these indices: whether a case failed, or nothing was measured.
int ExitStatusOf(const std::vector<const nlohmann::ordered_json*>& indices);

// Runs every case that has no row yet, with `program`, and writes the index after each (see
// SweepFolder). Returns the index. A case that does not fit into the time is left out, and counted
// in "left_out".
nlohmann::ordered_json RunSweep(const SweepPlan& plan, const SweepLimits& limits,
                                const std::string& program, const SweepFolder& folder,
                                const std::function<void(const SweepProgress&)>& progress);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_H_
