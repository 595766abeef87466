// Holds counters to what is known: regions whose work is known by construction are counted, and
// each count gets a verdict. Only a counter that passes may be believed about a region whose work
// nobody knows.

#ifndef TOPDNN_HARNESS_VALIDATION_H_
#define TOPDNN_HARNESS_VALIDATION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/counters/source.h"
#include "harness/probes/probe.h"
#include "harness/record.h"

namespace topdnn {

// How far a count may lie from what is known.
struct Allowance {
  double relative = 0;  // of the known count
  double absolute = 0;
  std::string reason;  // why any: required unless both are 0
};

// One known count of one region, and what the counters said of it.
struct ValidationCase {
  std::string name;      // "fma/avx512/f32/l1"
  std::string quantity;  // "instructions", "FLOPs"
  double known = 0;
  std::optional<double> exact;  // absent: not counted
  std::optional<double> pmu;
  Allowance exact_allowance;
  Allowance pmu_allowance;
  Status verdict = Status::kSkipped;  // OK, FAILED (differs), INVALID (not counted whole), SKIPPED
  std::string reason;                 // required unless OK
};

// Pure: the verdict from the counts. `reason` stays, where a count is absent, as why it is.
void Judge(ValidationCase& c);

// Every event of `source` over one call of region(context).
std::map<std::string, EventCount> CountRegion(CounterSource& source, void (*region)(void*),
                                              void* context);

// What to count with; nullptr: not on this machine.
struct ValidationSources {
  CounterSource* exact = nullptr;
  CounterSource* pmu = nullptr;  // the one with the event "instructions:u"
};

// Pure: what `iterations` more of the probe count after the first `before`, by the name of the
// exact counter's event. What the probe does not know of itself is left out. `buffers` are as
// the probe prepared them.
std::map<std::string, double> KnownCounts(const Probe& probe, const ProbeBuffers& buffers,
                                          std::int64_t before, std::int64_t iterations);

// Counts a probe, as the difference between two calls that differ in their iterations: one case per
// quantity; for a probe that this machine cannot run a single one, SKIPPED.
std::vector<ValidationCase> ValidateProbe(const Probe& probe, const ValidationSources& sources);

// One line a case: name, quantity, known, exact, PMU, exact over known, verdict and reason (or, for
// a count that is allowed to differ, why). Zeros that were counted as zeros are left out.
std::string ValidationText(const std::vector<ValidationCase>& cases);
nlohmann::ordered_json ToJson(const ValidationCase& c);
// The case that ToJson wrote, but for the PMU's allowance. Throws nlohmann::json::exception.
ValidationCase ValidationCaseOf(const nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_VALIDATION_H_
