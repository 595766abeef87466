// The options of `topdnn profile`.

#ifndef TOPDNN_BENCH_PROFILE_PROFILE_OPTIONS_H_
#define TOPDNN_BENCH_PROFILE_PROFILE_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/profile/plan_profile.h"
#include "bench/workload/input_options.h"
#include "bench/workload/workload.h"
#include "harness/report/console.h"

namespace topdnn {

struct ProfileOptions {
  WorkloadOptions workload;
  InputOptions input;
  bool train = false;
  bool infer = false;
  std::optional<std::int64_t> iterations;
  double seconds = 5.0;
  std::string wait_quiet;  // a duration; empty: do not wait
  std::string regime = "in-network";
  std::string counters = "auto";
  std::string metrics;
  std::string energy;                    // the readings of an external meter; empty: none
  std::vector<std::string> experiments;  // of ProfileExperiments(), besides those by default
  bool no_experiments = false;           // not even those
  std::optional<std::int64_t> hot;       // loops per stage that are listed
  bool scale_counts = false;
  bool no_isolated = false;
  std::string record;
  std::string exact_baseline;                // the file; empty: not asked for
  std::map<std::string, std::string> files;  // by name of the report; empty: not asked for
  std::vector<std::string> exports;          // "FORMAT=FILE" each
  std::map<std::string, bool> tables;        // those shown on request
  ConsoleOptions console;
  std::optional<std::int64_t> top;
  std::string columns;  // names with commas between them

  bool training() const { return !infer; }
  // Whether the step is also timed with its input pipeline.
  bool feeds() const { return !workload.data.empty() || input.requested(); }
  bool Shows(const std::string& table) const { return tables.contains(table) && tables.at(table); }
  // Whether the experiments by default run: unless they are excluded, or only the clock was asked
  // for, or nothing runs.
  bool default_experiments() const;
  // The paths of all files to write; empty for those not asked for.
  std::vector<std::string> Outputs() const;
};

// Tables that need more than the usual profile: measurements of each stage by itself with hot and
// with cold caches, and the evolution of the series of samples.
inline constexpr const char* kContextGap = "context-gap";
inline constexpr const char* kSeries = "series";

// What the table of stages shows. Throws UsageError for an unknown name or a number below 1.
StageTableOptions StageTableOf(const ProfileOptions& options);

// The regime of this name. Throws UsageError for an unknown name.
Regime RegimeOf(const std::string& name);

// The file of `--counters replay:FILE`; empty for other values.
std::string ReplayedFile(const std::string& counters);

// Moves `exports` to `files`. Throws UsageError for a word without a format or a file.
void TakeExports(ProfileOptions& options);

// Checks all options before the long work starts. Throws UsageError or InputError.
void CheckOptions(const ProfileOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_PROFILE_OPTIONS_H_
