// The course of a measurement over its iterations: each stage's series of times and counts, bounded
// in length, and its phases (warm-up and steady; forward, backward and update).

#ifndef TOPDNN_HARNESS_REPORT_EVOLUTION_H_
#define TOPDNN_HARNESS_REPORT_EVOLUTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/measure/measure.h"
#include "harness/text/style.h"

namespace topdnn {

// The means of `per_point` consecutive values; the last point is the mean of the rest. `most`:
// points, at least 1.
struct SeriesPoints {
  std::vector<double> means;
  std::int64_t per_point = 1;
};
SeriesPoints PointsOf(std::span<const double> values, std::size_t most);

// One group of stages in one phase.
struct Phase {
  std::string phase;  // "warm-up", "steady"
  std::string group;  // "forward", "backward", ...
  std::int64_t iterations = 0;
  double seconds = 0;  // median of an iteration
  double share = 0;    // of the phase's step
  // Means per iteration of the steady phase: events are not read during warm-up.
  std::map<std::string, std::optional<double>> events;
};

// `groups`: the group of each stage, in the order of the samples. The result has the groups in the
// order of their first stage. Throws std::invalid_argument if the lengths differ.
std::vector<Phase> PhasesOf(const SequenceSamples& samples, std::span<const std::string> groups);

// {"phases": [...], "stages": [{"name", "warmup_seconds": [...], "warmup_values_per_point": k,
// "seconds": [...], "values_per_point": k, "events": {"NAME": [...]}}...]}, with the step as the
// last stage, and at most `most_points` points per series of times. Values that were not counted
// are null.
nlohmann::ordered_json EvolutionJson(const SequenceSamples& samples,
                                     const std::vector<Phase>& phases,
                                     std::size_t most_points = 1000);

// The phases of such an object as a table; empty for null.
std::string PhasesText(const nlohmann::ordered_json& evolution, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_EVOLUTION_H_
