// Compares counters with known counts: counts regions whose work is known by construction, and
// gives each count a verdict. Only a counter that passes can be trusted for regions of unknown
// work.

#ifndef TOPDNN_HARNESS_REPORT_VALIDATION_H_
#define TOPDNN_HARNESS_REPORT_VALIDATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/counters/source.h"
#include "harness/probes/probe.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// How far a count may be from the known count.
struct Allowance {
  double relative = 0;  // of the known count
  double absolute = 0;
  std::string reason;  // why there is an allowance; required unless both are 0
};

// One known count of one region, and the counters' values.
struct ValidationCase {
  std::string name;      // "fma/avx512/f32/l1"
  std::string quantity;  // "instructions", "FLOPs"
  double known = 0;
  std::optional<double> exact;  // absent: not counted
  std::optional<double> pmu;
  Allowance exact_allowance;
  Allowance pmu_allowance;
  Status verdict =
      Status::kSkipped;  // OK, FAILED (differs), INVALID (not counted completely), SKIPPED
  std::string reason;    // required unless OK
};

// Pure: sets the verdict from the counts. If a count is absent, `reason` is kept: it says why.
void Judge(ValidationCase& c);

// Every event of `source` over one call of region(context).
std::map<std::string, EventCount> CountRegion(CounterSource& source, void (*region)(void*),
                                              void* context);

// The counter sources; nullptr: not available on this machine.
struct ValidationSources {
  CounterSource* exact = nullptr;
  CounterSource* pmu = nullptr;  // the one with the event "instructions:u"
};

// Pure: the known counts of `iterations` iterations of the probe after the first `before`, by the
// name of the exact counter's event. Quantities that are not known for the probe are omitted.
// `buffers` are as prepared by the probe.
std::map<std::string, double> KnownCounts(const Probe& probe, const ProbeBuffers& buffers,
                                          std::int64_t before, std::int64_t iterations);

// Counts a probe, as the difference between two calls with different numbers of iterations. Returns
// one case per quantity, or a single SKIPPED case if this machine cannot run the probe.
std::vector<ValidationCase> ValidateProbe(const Probe& probe, const ValidationSources& sources);

// One row per case: name, quantity, known, exact, PMU, exact over known, verdict and reason (or,
// for a count that is allowed to differ, why). Zeros that were counted as zeros are omitted.
std::string ValidationText(const std::vector<ValidationCase>& cases, const Style& style);
nlohmann::ordered_json ToJson(const ValidationCase& c);
// The case that ToJson wrote, without the PMU's allowance. Throws nlohmann::json::exception.
ValidationCase ValidationCaseOf(const nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_VALIDATION_H_
