#include "harness/results/record.h"

#include <algorithm>

#include "harness/counters/source.h"

namespace topdnn {

std::optional<double> Record::Gflops() const {
  // A failed record may still contain its samples, but they give no figures.
  if (status == Status::kFailed || !seconds || !flops || !(seconds->median > 0)) {
    return std::nullopt;
  }
  return *flops / seconds->median * 1e-9;
}

std::optional<double> Record::DramBytesPerSecond() const {
  const auto read = events.find(std::string(kDramReadEvent));
  const auto written = events.find(std::string(kDramWriteEvent));
  if (read == events.end() || written == events.end() || !read->second || !written->second ||
      status == Status::kFailed || !seconds || !(seconds->median > 0)) {
    return std::nullopt;
  }
  return (*read->second + *written->second) / seconds->median;
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
