// The Top-Down profile of each stage, and the FLOPs that the PMU counted, from a profile's events.

#ifndef TOPDNN_BENCH_PROFILE_LIMITS_STAGE_TOPDOWN_H_
#define TOPDNN_BENCH_PROFILE_LIMITS_STAGE_TOPDOWN_H_

#include <map>
#include <string>

#include "harness/measure/measure.h"
#include "harness/results/record.h"
#include "harness/topdown/metric.h"

namespace topdnn {

// A record's counts as if they had been counted together. Those of a later pass are scaled to the
// first by the event that both counted (cycles or slots, named "NAME" and "NAME#2"), since ratios
// are valid only within a pass. Pure.
std::map<std::string, double, std::less<>> CountsOfOnePass(const Record& record,
                                                           const SequenceSamples& samples);

// Fills `topdown` of the record, and `flops_counted` if it is absent and every FLOP event was on a
// counter all the time.
TopdownResult AddTopdown(const TopdownTable& table, bool smt, const SequenceSamples& samples,
                         Record& record);

// The same for the step and for each stage. Notes explain how, and give advice on the stages that
// take most of the time.
void AddTopdown(const TopdownTable& table, bool smt, const SequenceSamples& samples,
                Report& report);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_LIMITS_STAGE_TOPDOWN_H_
