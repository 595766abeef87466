#include "harness/scheduling/speed_model.h"

#include <algorithm>
#include <vector>

#include "harness/statistics/relative_fit.h"

namespace topdnn {

namespace {

double EfficiencyAt(std::span<const LoadLoss> losses, double load) {
  if (losses.empty()) return 1;
  const auto above = std::find_if(losses.begin(), losses.end(),
                                  [&](const LoadLoss& loss) { return loss.load >= load; });
  if (above == losses.begin()) return losses.front().efficiency;
  if (above == losses.end()) return losses.back().efficiency;
  const LoadLoss& low = *(above - 1);
  const double part = (load - low.load) / (above->load - low.load);
  return low.efficiency + part * (above->efficiency - low.efficiency);
}

}  // namespace

AmdahlFit FitAmdahl(const std::map<int, double>& step_seconds) {
  // step = a + b / w with a, b >= 0, where a = one * serial. The errors are divided by the times.
  std::vector<RelativeTerms> rows;
  rows.reserve(step_seconds.size());
  for (const auto& [width, seconds] : step_seconds) {
    rows.push_back({1 / seconds, 1 / (width * seconds)});
  }
  const RelativeFit fit = FitRelative(rows);
  if (step_seconds.size() < 2 || !fit.determined) {
    const auto& [width, seconds] = *step_seconds.begin();
    const double share = kAssumedSerialShare + (1 - kAssumedSerialShare) / width;
    return {.one = seconds / share, .serial = kAssumedSerialShare};
  }
  return {.one = fit.x + fit.y, .serial = fit.x / (fit.x + fit.y)};
}

double StepTimeAt(const SpeedCurve& curve, int width) {
  const auto measured = curve.step_seconds.find(width);
  if (measured != curve.step_seconds.end()) return measured->second;
  const AmdahlFit fit = FitAmdahl(curve.step_seconds);
  return fit.one * (fit.serial + (1 - fit.serial) / width);
}

double RelativeSpeed(std::span<const LoadLoss> losses, int cpus, int width, int others) {
  if (others <= 0 && width <= cpus) return 1;
  const double load = static_cast<double>(width + others) / cpus;
  if (load > 1) return EfficiencyAt(losses, load) / load;
  const double used = static_cast<double>(others) / (cpus - width);
  return 1 - used * (1 - EfficiencyAt(losses, 1));
}

}  // namespace topdnn
