#include "harness/scheduling/machine_speed.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/scheduling/schedule.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

bool SameKind(const SpeedCurve& a, const SpeedCurve& b) {
  return a.network == b.network && a.training == b.training && a.batch == b.batch;
}

// Null if there is none.
const SpeedCurve* FindKind(const std::vector<SpeedCurve>& curves, const SpeedCurve& kind) {
  const auto found = std::find_if(curves.begin(), curves.end(),
                                  [&](const SpeedCurve& curve) { return SameKind(curve, kind); });
  return found == curves.end() ? nullptr : &*found;
}

double StepsOf(std::span<const TraceJob> jobs, const SpeedCurve& kind) {
  double steps = 0;
  for (const TraceJob& job : jobs) {
    const SpeedCurve own{
        .network = job.network, .training = job.training, .batch = job.batch, .step_seconds = {}};
    if (SameKind(own, kind)) steps += static_cast<double>(job.steps);
  }
  return steps;
}

SpeedCurve AtSpeed(const SpeedCurve& curve, double speed) {
  SpeedCurve scaled = curve;
  for (auto& [width, seconds] : scaled.step_seconds) seconds /= speed;
  scaled.startup_seconds /= speed;
  scaled.change_seconds /= speed;
  return scaled;
}

SpeedCurve CurveAround(const SpeedCurve& curve, const SpeedCurve& before, const SpeedCurve& after) {
  double model_seconds = 0, seconds_around = 0, serial_speed = 0;
  std::map<int, double> around;
  for (const auto& [width, seconds] : before.step_seconds) {
    const auto other = after.step_seconds.find(width);
    if (other == after.step_seconds.end()) continue;
    // The mean of the speeds: half of the time at each.
    around[width] = 2 / (1 / seconds + 1 / other->second);
    const double seconds_then = StepTimeAt(curve, width);
    if (around.size() == 1) serial_speed = seconds_then / around[width];
    model_seconds += seconds_then;
    seconds_around += around[width];
  }
  if (around.empty()) return curve;
  SpeedCurve scaled = AtSpeed(curve, model_seconds / seconds_around);
  for (const auto& [width, seconds] : around) scaled.step_seconds[width] = seconds;
  scaled.startup_seconds = curve.startup_seconds / serial_speed;
  return scaled;
}

}  // namespace

std::optional<double> SpeedAt(std::span<const TraceJob> jobs, const SpeedModel& model,
                              const SpeedCheck& check) {
  double model_seconds = 0, check_seconds = 0;
  for (const SpeedCurve& checked : check.curves) {
    const SpeedCurve* const curve = FindKind(model.curves, checked);
    if (curve == nullptr) continue;
    const double steps = StepsOf(jobs, checked);
    for (const auto& [width, seconds] : checked.step_seconds) {
      model_seconds += steps * StepTimeAt(*curve, width);
      check_seconds += steps * seconds;
    }
  }
  if (!(check_seconds > 0)) return std::nullopt;
  return model_seconds / check_seconds;
}

SpeedModel ModelAround(const SpeedModel& model, const SpeedCheck& before, const SpeedCheck& after,
                       const RunSpeed& speed) {
  SpeedModel around = model;
  for (SpeedCurve& curve : around.curves) {
    const SpeedCurve* const first = FindKind(before.curves, curve);
    const SpeedCurve* const last = FindKind(after.curves, curve);
    const bool checked = first != nullptr && last != nullptr;
    curve = checked ? CurveAround(curve, *first, *last) : AtSpeed(curve, speed.mean());
  }
  if (before.losses.empty() || before.losses.size() != after.losses.size()) return around;
  around.losses = before.losses;
  for (std::size_t l = 0; l < around.losses.size(); ++l) {
    around.losses[l].efficiency = (before.losses[l].efficiency + after.losses[l].efficiency) / 2;
  }
  return around;
}

SpeedModel ModelAtSpeed(const SpeedModel& model, double speed) {
  SpeedModel scaled = model;
  for (SpeedCurve& curve : scaled.curves) curve = AtSpeed(curve, speed);
  return scaled;
}

double CommonSpeed(std::span<const RunSpeed> speeds) {
  std::vector<double> means;
  for (const RunSpeed& speed : speeds) means.push_back(speed.mean());
  return Median(means);
}

std::string CheckDoubt(const SpeedCheck& before, const SpeedCheck& after) {
  const double others = std::max(before.others.value_or(0), after.others.value_or(0));
  if (others <= kMostOthers) return "";
  return fmt::format(
      "other programs, or the host, had {:.0f} % of the CPUs' time while the machine's speed "
      "around its run was measured",
      100 * others);
}

std::string SpeedDoubt(const RunSpeed& speed, double common) {
  const auto differ = [](double a, double b) {
    return std::max(a, b) > std::min(a, b) * (1 + kMaxSpeedChange);
  };
  std::string doubt;
  if (differ(speed.before, speed.after)) {
    doubt = fmt::format("the machine's speed changed during its run (from {:.2f} to {:.2f})",
                        speed.before, speed.after);
  }
  if (differ(speed.mean(), common)) {
    doubt += fmt::format(
        "{}its machine speed {:.2f} is not that of the other policies ({:.2f}): its times do not "
        "compare with theirs",
        doubt.empty() ? "" : "; ", speed.mean(), common);
  }
  return doubt;
}

}  // namespace topdnn
