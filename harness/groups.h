// Totals of a run: the stages of each pass together (forward, backward, update, ...), and what of
// the step is in none of them.

#ifndef TOPDNN_HARNESS_GROUPS_H_
#define TOPDNN_HARNESS_GROUPS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure.h"
#include "harness/record.h"

namespace topdnn {

// "backward" for each backward pass, else the pass.
std::string GroupOfPass(std::string_view pass);

// Pure: for each of `iterations` the sum of those stages that `belongs` accepts, in the series
// asked for. A stage with fewer iterations adds to those it has.
std::vector<double> SumsPerIteration(std::span<const StageSamples> stages,
                                     const std::function<bool(std::size_t stage)>& belongs,
                                     std::vector<double> StageSamples::*series,
                                     std::size_t iterations);

// Pure: fills in the report's groups from its stages: forward, backward, update, reorder, loss,
// then any other pass, each if some stage has it; and its remainder.
//
// `samples`: of the stages, one each, of iterations that ran all stages in sequence. A group's time
// is then the median of its sums per iteration. Without them (stages that were measured by
// themselves) it is the sum of the stages' medians, and has no spread. A figure is absent when any
// stage lacks its part of it.
void AddGroups(std::span<const StageSamples> samples, Report& report);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_GROUPS_H_
