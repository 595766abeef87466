#include "networks/quantization/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

constexpr double kAll = 100;  // percent

// The element that is above this fraction of the elements. Reorders the elements.
double Quantile(std::vector<double>& values, double fraction) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::llround(fraction * last));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

Calibration::Calibration(Plan& plan, RangeRule rule) : plan_(plan), rule_(rule) {}

bool Calibration::IsOfAllSteps() const { return rule_.entropy || rule_.percentile == kAll; }

void Calibration::RunStep() {
  const ThreadWidth width(plan_.threads());
  ++steps_;
  for (const BufferId input : plan_.inputs()) {
    Collect(plan_.buffers()[static_cast<std::size_t>(input)].name, input);
  }
  for (std::size_t i = 0; i < plan_.stages().size(); ++i) {
    plan_.RunStage(i);
    const Stage& stage = plan_.stages()[i];
    // The buffer of a later stage may take the same memory, so this one is read now.
    if (stage.pass == StagePass::kForward) Collect(stage.name, stage.buffers.at(Arg::kDst));
  }
}

void Calibration::Collect(const std::string& name, BufferId buffer) {
  std::vector<double> values = plan_.Read(buffer);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  Sum range{*least, *most};
  const bool finite =
      std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  if (!finite) {
    throw std::invalid_argument(
        fmt::format("the result of {} is not finite on these images; quantize a network with "
                    "trained weights",
                    name));
  }
  const auto [entry, is_first] = sums_.try_emplace(name, range);
  Sum& sum = entry->second;
  if (rule_.entropy) histograms_[name].Add(values);
  if (IsOfAllSteps()) {
    sum.least = std::min(sum.least, range.least);
    sum.most = std::max(sum.most, range.most);
    return;
  }
  const double cut = (kAll - rule_.percentile) / (2 * kAll);
  if (range.least < 0) range.least = std::min(Quantile(values, cut), 0.0);
  if (range.most > 0) range.most = std::max(Quantile(values, 1 - cut), 0.0);
  if (is_first) sum = Sum();
  sum.least += range.least;
  sum.most += range.most;
}

std::map<std::string, ValueRange> Calibration::Ranges() const {
  const double count = IsOfAllSteps() ? 1.0 : static_cast<double>(steps_);
  std::map<std::string, ValueRange> ranges;
  for (const auto& [name, sum] : sums_) {
    ValueRange& range = ranges[name];
    range = {static_cast<float>(sum.least / count), static_cast<float>(sum.most / count)};
    if (!rule_.entropy) continue;
    constexpr std::size_t kLevelsOfS8 = 127, kLevelsOfU8 = 255;
    const bool is_signed = range.least < 0;
    const auto limit =
        static_cast<float>(histograms_.at(name).Limit(is_signed ? kLevelsOfS8 : kLevelsOfU8));
    range = {is_signed ? -limit : 0.0F, limit};
  }
  return ranges;
}

}  // namespace topdnn
