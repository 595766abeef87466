// The phases of `topdnn malleable`, each on the same run.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_PHASES_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_PHASES_H_

#include <string>
#include <vector>

#include "bench/studies/malleable/malleable.h"
#include "bench/studies/malleable/malleable_run.h"
#include "harness/width/width_control.h"

namespace topdnn {

struct PhaseSettings {
  std::vector<int> widths;  // ascending, at least two
  std::int64_t changes = 50;
  std::string socket_path;
  bool training = true;
  std::uint64_t seed = 1;
};

// Compares results at random widths with those of the same steps at one width.
ResultError CompareResults(const PhaseSettings& settings, WidthControl& control, MalleableRun& run);

// Times steps at each width, and while the width changes, in rounds.
void TimeWidths(const PhaseSettings& settings, WidthControl& control, MalleableRun& run,
                MalleableResult& result);

// Asks for `settings.changes` changes by one source, at random points of the steps.
SourceFigures ChangeBy(const std::string& source, const PhaseSettings& settings,
                       WidthControl& control, MalleableRun& run);

// Times steps on one CPU, with the widest team and with one thread.
Oversubscription TimeOnOneCpu(const PhaseSettings& settings, WidthControl& control,
                              MalleableRun& run);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_PHASES_H_
