// Networks of the zoo at their smallest, drawn and fed alike, and what is asked of each.

#ifndef TOPDNN_TESTS_NETWORKS_SMALL_NETWORK_H_
#define TOPDNN_TESTS_NETWORKS_SMALL_NETWORK_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "networks/parameters.h"
#include "networks/plan.h"
#include "networks/planner.h"

namespace topdnn {

// Two images of NetworkOffer::small and ten classes, on two threads; allocated, drawn and fed.
std::unique_ptr<Plan> MakeSmall(const std::string& name, PlanRequest request = {},
                                ParameterDraw draw = ParameterDraw::kTraining);

// Every stage agrees with the reference.
void ExpectStagesAgree(Plan& plan);

// One step of the network on `request`'s backend gives the logits, loss, gradients and statistics
// of the reference backend, within `tolerance` of each array's largest entry. A gradient
// that is rounding alone (see the definition) need only be small beside the largest of them.
void ExpectStepAgrees(const std::string& name, const PlanRequest& request, double tolerance);

// "googlenet:bn" as a test's name.
std::string NameOfCase(const testing::TestParamInfo<std::string>& tested);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_SMALL_NETWORK_H_
