// The Top-Down profile of each stage, and the FLOPs that the PMU counted, from a profile's events.

#ifndef TOPDNN_BENCH_STAGE_TOPDOWN_H_
#define TOPDNN_BENCH_STAGE_TOPDOWN_H_

#include <map>
#include <string>
#include <vector>

#include "harness/measure.h"
#include "harness/record.h"
#include "harness/topdown/metric.h"

namespace topdnn {

// A record's counts as if they had been counted together: those of a later pass are taken to the
// first by the event that both counted (cycles or slots, told as "NAME" and "NAME#2"), since ratios
// hold within a pass alone. Pure.
std::map<std::string, double, std::less<>> CountsOfOnePass(const Record& record,
                                                           const SequenceSamples& samples);

// Fills `topdown` of the step and of each stage, and `flops_counted` where nothing counted them yet
// and every FLOP event was on a counter all the time. Notes say how, and advise on the stages that
// take most of the time.
void AddTopdown(const TopdownTable& table, bool smt, const SequenceSamples& samples,
                Report& report);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STAGE_TOPDOWN_H_
