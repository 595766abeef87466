// Initial values of a plan's parameters: drawn from a seed, independent of the plan's layouts.

#ifndef TOPDNN_NETWORKS_PARAMETERS_PARAMETERS_H_
#define TOPDNN_NETWORKS_PARAMETERS_PARAMETERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "networks/plan/plan.h"

namespace topdnn {

enum class ParameterDraw {
  kTraining,  // the start of a training run
  // For the comparison of one step between two implementations. Shifts and biases keep most inputs
  // of a ReLU away from zero. Near zero, rounding decides whether a gradient passes, and in a deep
  // network two correct implementations would then differ by several percent.
  kComparison,
};

// Draws every parameter: normal with variance 2 / fan-in (He et al. 2015, "Delving Deep into
// Rectifiers", equation 10), or the operation's constant. A batch normalization at the end of a
// residual branch starts with a small scale, so that neither activations nor gradients grow with
// the depth. The values depend only on the seed, the draw, the layer and its place, and the
// parameter, not on backend or layout, and on the type only by rounding. The plan is allocated.
// Calls Plan::PrepareParameters at the end.
void InitializeParameters(const Plan& plan, std::uint64_t seed,
                          ParameterDraw draw = ParameterDraw::kTraining);
// Draws one of these parameters, row-major. `place` is the result of PlaceOf for its node.
std::vector<double> DrawParameter(std::string_view layer, const Parameter& parameter,
                                  std::uint64_t seed, NormPlace place,
                                  ParameterDraw draw = ParameterDraw::kTraining);
// Finds the place of a batch normalization; kElsewhere for other operations. In an addition the
// first source is the branch, and the others are shortcuts.
NormPlace PlaceOf(const Graph& graph, const GraphNode& node);

// `count` values of the standard normal distribution: Box and Muller 1958 on the 64-bit Mersenne
// Twister. They are the same on every machine, except for the rounding of the C library's log, sin
// and cos. (The distributions of C++ libraries differ by more.)
std::vector<double> NormalValues(std::uint64_t seed, std::size_t count);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PARAMETERS_PARAMETERS_H_
