// Adds an experiment to `topdnn profile --experiment`: it notes the number of stages.

#include <fmt/format.h>

#include <cstddef>

#include "bench/profile/experiments.h"

namespace topdnn {

namespace {

AddExperiment Run(const ExperimentSubject& subject) {
  return [stages = subject.plan.stages().size()](const BoundsMachine&, Report& report) {
    report.notes.push_back(
        {.text = fmt::format("{} stages, as an experiment", stages), .main = true});
  };
}

const ExperimentRegistration kOutside({.name = "outside",
                                       .help = "how many stages there are",
                                       .regimes = {Regime::kInNetwork},
                                       .check = [](const ExperimentSubject&) {},
                                       .run = Run});

}  // namespace

}  // namespace topdnn
