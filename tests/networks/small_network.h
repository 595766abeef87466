// The smallest forms of the zoo's networks, with drawn parameters and filled inputs, and the checks
// of each; and requests and images for the tests' own graphs.

#ifndef TOPDNN_TESTS_NETWORKS_SMALL_NETWORK_H_
#define TOPDNN_TESTS_NETWORKS_SMALL_NETWORK_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "networks/parameters/parameters.h"
#include "networks/plan/plan.h"
#include "networks/planning/planner.h"

namespace topdnn {

// Two images of NetworkOffer::small and ten classes, on two threads. The plan is allocated, its
// parameters are drawn and its input is filled.
std::unique_ptr<Plan> MakeSmall(const std::string& name, PlanRequest request = {},
                                ParameterDraw draw = ParameterDraw::kTraining);

// Checks that every stage agrees with the reference.
void ExpectStagesAgree(Plan& plan);

// Checks that one step of the network on `request`'s backend gives the logits, loss, gradients and
// statistics of the reference backend, within `tolerance` of each array's largest entry. A gradient
// that is only rounding (see the definition) must only be small compared with the largest of them.
void ExpectStepAgrees(const std::string& name, const PlanRequest& request, double tolerance);

PlanRequest RequestOn(const std::string& backend, bool training);

// Fills the plan's input with values from -1 to 1 that repeat after 17.
void WriteRamp(Plan& plan);

// The full names of the zoo's networks that have at least 20 million parameters or 200 layers
// (kLarge), or fewer of both. The tests of the large ones are slow.
enum class NetworkClass { kSmall, kLarge };
std::vector<std::string> NetworksOf(NetworkClass wanted);

// "googlenet:bn" in the form of a test name.
std::string NameOfCase(const testing::TestParamInfo<std::string>& tested);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_SMALL_NETWORK_H_
