#include <fmt/format.h>

#include <string>

#include "harness/report/registry.h"
#include "harness/results/record.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

// "12.1 ms (12 to 12.3)"
std::string PartText(const StepPart& part, const Style& style) {
  constexpr double kMs = 1e3;
  if (!part.ci95) return TimeText(part.seconds.median, style.unicode);
  return fmt::format("{} ms ({} to {})", ThreeDigits(part.seconds.median * kMs),
                     ThreeDigits(part.ci95->low * kMs), ThreeDigits(part.ci95->high * kMs));
}

std::string FedStepText(const Report& report, const Style& style, const ConsoleOptions&) {
  if (!report.fed_step) return "";
  const FedStep& fed = *report.fed_step;
  const std::string pipeline =
      fed.prefetch == 0
          ? "no prefetch"
          : fmt::format("prefetch {}, {}", fed.prefetch, CountText(fed.loaders, "loader thread"));
  return "\n" +
         Wrap(fmt::format(
                  "fed by {} ({}{}, {} CPUs): median step {}; compute {}, input wait {}, "
                  "other {}; {} steps",
                  fed.source, pipeline, fed.augmentation.empty() ? "" : ", " + fed.augmentation,
                  fed.placement, PartText(fed.step, style), PartText(fed.compute, style),
                  PartText(fed.input_wait, style), PartText(fed.other, style), fed.step.seconds.n),
              style.width, 2);
}

const ReportRegistration kFedStep(TableReport{.name = "fed-step",
                                              .place = 2,
                                              .shown = TableReport::Shown::kUnlessQuiet,
                                              .text = FedStepText});

}  // namespace

}  // namespace topdnn
