// The options that say which cases a sweep has: of `topdnn sweep` and `topdnn fleet`.

#ifndef TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_OPTIONS_H_
#define TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "bench/command_line/command_parser.h"
#include "bench/studies/sweep/sweep.h"

namespace topdnn {

struct SweepOptions {
  std::map<std::string, std::string> axes{};      // as given, by key; empty: not given
  std::map<std::string, std::string> settings{};  // by option of `profile`; empty: not given
  std::string study{};
  std::optional<int> repeats{};         // absent: not given, 1
  std::optional<std::uint64_t> seed{};  // absent: not given, 1

  bool GivesCases() const;
  // An option that is given besides the axes and --study, "--repeats"; empty: there is none.
  std::string FirstSetting() const;
};

// `options` must live until the command runs.
void AddSweepOptions(CommandParser& parser, SweepOptions& options);

// Throws UsageError, in one line, for values that are not valid.
SweepPlan PlanOf(const SweepOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_OPTIONS_H_
