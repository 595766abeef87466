#include "harness/results/record.h"

#include <algorithm>

#include "harness/counters/source.h"

namespace topdnn {

std::optional<double> Record::Median() const {
  if (status == Status::kFailed || !seconds) return std::nullopt;
  return seconds->median;
}

std::optional<double> Record::Event(std::string_view event) const {
  const auto found = events.find(std::string(event));
  return found == events.end() ? std::nullopt : found->second;
}

std::optional<double> Record::Gflops() const {
  if (!flops || !(Median() > 0)) return std::nullopt;
  return *flops / seconds->median * 1e-9;
}

std::optional<double> Record::DramBytesPerSecond() const {
  const auto read = Event(kDramReadEvent), written = Event(kDramWriteEvent);
  if (!read || !written || !(Median() > 0)) return std::nullopt;
  return (*read + *written) / seconds->median;
}

std::optional<double> Record::FlopsForCeiling() const {
  constexpr double kMinExecuted = 0.1;
  if (!flops || !flops_counted || *flops_counted < kMinExecuted * *flops) return flops;
  return std::min(*flops, *flops_counted);
}

std::optional<double> Record::PeakFraction() const {
  if (!Gflops() || !ceiling_flops_per_second || !(*ceiling_flops_per_second > 0)) {
    return std::nullopt;
  }
  return *FlopsForCeiling() / seconds->median / *ceiling_flops_per_second;
}

std::optional<double> Report::ItemsPerSecond() const {
  if (step.status == Status::kFailed || !step.seconds || !(step.seconds->median > 0)) {
    return std::nullopt;
  }
  return items_per_step ? std::optional(*items_per_step / step.seconds->median) : std::nullopt;
}

}  // namespace topdnn
