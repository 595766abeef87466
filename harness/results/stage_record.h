// Makes the record of a stage, or of the step, from its samples.

#ifndef TOPDNN_HARNESS_RESULTS_STAGE_RECORD_H_
#define TOPDNN_HARNESS_RESULTS_STAGE_RECORD_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/measure.h"
#include "harness/results/record.h"

namespace topdnn {

// A stage shorter than this many empty regions is flagged: the marks took a tenth of its time or
// more.
inline constexpr double kMinEmptyRegions = 10;

// The most times of iterations that a record keeps.
inline constexpr std::size_t kMostSamples = 1000;

// Requests scaled counts: the record's means are then Scaled(mean), the sum of the counts over the
// sum of the fractions, an estimate. The samples stay as they were counted. Cycles on another core
// type are never scaled: they were counted in full.
void ScaleCounts(StageSamples& samples);

// The mean of one of `events` over the iterations, scaled if the samples request it.
EventCount MeanOfEvent(const StageSamples& samples, const std::vector<std::string>& events,
                       std::size_t event);

// The record of a stage or of the step: name, regime, status, seconds, events, running fraction.
// Its times are those of the undisturbed samples. In addition to the verdict, it is DEGRADED if too
// few samples are undisturbed, the region is too short for the marks, an event was on a counter for
// too small a share of the time, threads were on another core type, or the clock went backwards in
// some iterations. Without samples it is SKIPPED, or INVALID if the clock went backwards in each
// iteration. It is INVALID if the median time is impossible.
Record RecordOf(const StageSamples& samples, const std::vector<std::string>& events,
                const Verdict& verdict, std::string_view regime);
// Adds the counts of the sources that run the regions themselves: their events, the counted FLOPs,
// and why some are absent or counted in another way.
void AddRunCounts(const StageSamples& samples, const std::vector<std::string>& run_events,
                  Record& record);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESULTS_STAGE_RECORD_H_
