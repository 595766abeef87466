// The speed of the machine before and after the run of each policy, from times of steps that are
// measured alone at those moments: the speed model at that speed, and whether the runs compare.
// Pure.

#ifndef TOPDNN_HARNESS_SCHEDULING_MACHINE_SPEED_H_
#define TOPDNN_HARNESS_SCHEDULING_MACHINE_SPEED_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/scheduling/speed_model.h"
#include "harness/scheduling/trace.h"

namespace topdnn {

// What was measured at one moment.
struct SpeedCheck {
  // Kinds of jobs that the model has, too. Only their steps are measured.
  std::vector<SpeedCurve> curves;
  std::vector<LoadLoss> losses{};
  // The share of the CPUs' time that other programs had meanwhile; absent if it is not known.
  std::optional<double> others{};
  std::string failure{};  // why nothing was measured; empty: it was
};

// The speed of the machine around a run, relative to the times of steps of the model: 2 is twice
// as fast as these.
struct RunSpeed {
  double before = 1, after = 1;
  double mean() const { return (before + after) / 2; }
};

// The time of the steps of all jobs by the model, divided by that of the check. It is the sum over
// the kinds and widths of the check. Absent if the check has no kind of the jobs.
std::optional<double> SpeedAt(std::span<const TraceJob> jobs, const SpeedModel& model,
                              const SpeedCheck& check);

// The model at the speed around a run. The speed of each kind at each width is the mean of the two
// checks, and so is each loss. A width that is not in the checks is scaled by the speed of its
// kind, and a kind that is not in them by `speed`. A start-up is serial: it is scaled by the speed
// of the smallest width.
SpeedModel ModelAround(const SpeedModel& model, const SpeedCheck& before, const SpeedCheck& after,
                       const RunSpeed& speed);

// All times of the model for a machine of this relative speed.
SpeedModel ModelAtSpeed(const SpeedModel& model, double speed);

// The median of the means.
double CommonSpeed(std::span<const RunSpeed> speeds);

// Runs whose speeds differ by more than this share do not compare.
inline constexpr double kMaxSpeedChange = 0.1;

// Why the checks are in doubt: other programs used the CPUs meanwhile. Empty: there is no doubt.
std::string CheckDoubt(const SpeedCheck& before, const SpeedCheck& after);

// Why the times of a run are in doubt, in one line: the machine's speed changed during the run, or
// differs from `common`, the speed of all runs that are compared. Empty: there is no doubt.
std::string SpeedDoubt(const RunSpeed& speed, double common);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SCHEDULING_MACHINE_SPEED_H_
