#include "bench/studies/cosched/cosched.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/command_line/command.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

// Medians of `topdnn profile --threads 1` on an AMD EPYC (Zen 5), rounded.
constexpr NominalJob kNominalJobs[] = {
    {.network = "lenet5", .training = true, .batch = 256, .step_microseconds = 8600},
    {.network = "lenet5", .training = false, .batch = 256, .step_microseconds = 2600},
    {.network = "cnn", .training = true, .batch = 64, .step_microseconds = 8400},
    {.network = "cnn", .training = false, .batch = 64, .step_microseconds = 2600},
};

constexpr double kNominalStartup = 0.3;  // seconds

// Null if there is none. The time of an image is the same for every batch.
const NominalJob* NominalOf(const TraceJob& kind) {
  const auto* const found = std::find_if(
      std::begin(kNominalJobs), std::end(kNominalJobs), [&](const NominalJob& nominal) {
        return nominal.network == kind.network && nominal.training == kind.training;
      });
  return found == std::end(kNominalJobs) ? nullptr : found;
}

}  // namespace

std::span<const NominalJob> NominalJobs() { return kNominalJobs; }

bool HaveNominalTimes(std::span<const TraceJob> kinds) {
  return std::all_of(kinds.begin(), kinds.end(),
                     [](const TraceJob& kind) { return NominalOf(kind) != nullptr; });
}

SpeedModel NominalModel(std::span<const TraceJob> kinds) {
  SpeedModel model;
  for (const TraceJob& kind : kinds) {
    const NominalJob* const found = NominalOf(kind);
    if (found == nullptr) {
      throw UsageError(
          fmt::format("--curves nominal: there is no nominal time of {} {}: take "
                      "--curves measured, or a file",
                      kind.network, PassOf(kind)));
    }
    const double image = 1e-6 * found->step_microseconds / found->batch;
    model.curves.push_back({.network = kind.network,
                            .training = kind.training,
                            .batch = kind.batch,
                            .step_seconds = {{1, image * kind.batch}},
                            .startup_seconds = kNominalStartup});
  }
  return model;
}

std::string ModelDoubt(const CoschedResult& result) {
  if (result.model_others.value_or(0) <= kMostOthers) return "";
  return fmt::format(
      "other programs, or the host, had {:.0f} % of the CPUs' time while they were measured",
      100 * *result.model_others);
}

std::string DoubtOf(const CoschedPolicy& policy) {
  const std::string disturbance = DisturbanceOf(policy.shown());
  const char* between = disturbance.empty() || policy.doubt.empty() ? "" : "; ";
  return disturbance + between + policy.doubt;
}

std::optional<double> WholeMakespan(const Schedule& schedule) {
  const ScheduleMetrics metrics = MetricsOf(schedule);
  return schedule.complete && metrics.failed == 0 ? metrics.makespan : std::nullopt;
}

std::optional<double> SimulationError(const CoschedPolicy& policy) {
  if (!policy.real || !policy.simulated) return std::nullopt;
  const auto real = WholeMakespan(*policy.real);
  const auto simulated = MetricsOf(*policy.simulated).makespan;
  if (!real || !simulated) return std::nullopt;
  return *simulated / *real - 1;
}

std::string JobLabel(const TraceJob& job, std::size_t number) {
  return fmt::format("{} {} {}", number, OneLine(job.network), PassOf(job));
}

}  // namespace topdnn
