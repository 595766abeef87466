// Totals of a run: the sum of the stages of each pass (forward, backward, update, ...), and the
// rest of the step.

#ifndef TOPDNN_HARNESS_RESULTS_GROUPS_H_
#define TOPDNN_HARNESS_RESULTS_GROUPS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/measure.h"
#include "harness/results/record.h"

namespace topdnn {

// "backward" for each backward pass, otherwise the pass.
std::string GroupOfPass(std::string_view pass);

// Pure: for each of `iterations`, the sum of the given series over the stages that `belongs`
// accepts. A stage with fewer iterations adds to the iterations that it has.
std::vector<double> SumsPerIteration(std::span<const StageSamples> stages,
                                     const std::function<bool(std::size_t stage)>& belongs,
                                     std::vector<double> StageSamples::*series,
                                     std::size_t iterations);

// Pure: fills in the report's groups from its stages, and its remainder. The order is forward,
// backward, update, reorder, loss, then any other pass; passes without stages are omitted.
//
// `samples`: one per stage, from iterations that ran all stages in sequence. A group's time is then
// the median of its sums per iteration, over the iterations that are undisturbed for each of its
// stages. Without them (stages that were measured by themselves), or if they are too few, it is the
// sum of the stages' medians, and has no spread. A figure is absent if any stage lacks its
// part.
void AddGroups(std::span<const StageSamples> samples, Report& report);

// What the shares of stages are shares of: the step's median time. If other work disturbed the step
// more than its stages, of which more samples are undisturbed, the sum of their times.
std::optional<double> SecondsForShares(const Report& report);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESULTS_GROUPS_H_
