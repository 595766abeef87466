#include "bench/profile/limits/efficiency.h"

#include <fmt/format.h>

#include <array>

namespace topdnn {

namespace {

// The accelerator has 256 multiply-accumulate units at 250 MHz, 16-bit fixed point. The paper's
// abstract rounds the shares to 94, 91 and 95 %.
constexpr std::string_view kSnowflake =
    "Gokhale, Zaidy, Chang, Culurciello 2017, \"Snowflake: A Model Agnostic Accelerator for Deep "
    "Convolutional Neural Networks\"";
constexpr std::array<PublishedEfficiency, 3> kPublished = {{
    {"alexnet", 120e9, 128e9, kSnowflake},
    {"googlenet", 116e9, 128e9, kSnowflake},
    {"resnet50", 122e9, 128e9, kSnowflake},
}};

}  // namespace

std::optional<Efficiency> EfficiencyOf(const Plan& plan, const Report& report) {
  if (!report.step.seconds || !report.step.ceiling_flops_per_second || !report.items_per_step) {
    return std::nullopt;
  }
  Efficiency efficiency;
  for (const Stage& stage : plan.stages()) {
    efficiency.operations += 2.0 * static_cast<double>(stage.work().macs);
  }
  efficiency.seconds = report.step.seconds->median;
  efficiency.ceiling = *report.step.ceiling_flops_per_second;
  efficiency.ceiling_name = report.step.ceiling_name;
  efficiency.images_per_second = *report.items_per_step / efficiency.seconds;
  return efficiency;
}

std::optional<PublishedEfficiency> PublishedFor(std::string_view full_name) {
  const std::string_view name = full_name.substr(0, full_name.find(':'));
  for (const PublishedEfficiency& published : kPublished) {
    if (published.network == name) return published;
  }
  return std::nullopt;
}

std::string EfficiencyNote(std::string_view network, const Efficiency& efficiency) {
  std::string note = fmt::format(
      "efficiency: {:.4g} G operations (2 x the multiply-accumulates as defined) in {:.4g} ms are "
      "{:.4g} Gops/s, {:.1f} % of {:.4g} Gops/s ({})",
      efficiency.operations * 1e-9, efficiency.seconds * 1e3, efficiency.Rate() * 1e-9,
      efficiency.Share() * 100, efficiency.ceiling * 1e-9, efficiency.ceiling_name);
  if (const auto published = PublishedFor(network)) {
    note += fmt::format("; the accelerator Snowflake publishes {:.1f} % ({:.0f} of {:.0f} Gops/s)",
                        published->Share() * 100, published->operations_per_second * 1e-9,
                        published->peak_operations_per_second * 1e-9);
  }
  return note;
}

}  // namespace topdnn
