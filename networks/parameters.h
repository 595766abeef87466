// Values of a plan's parameters: drawn from a seed, read and written by logical name, independent
// of the plan's layouts.

#ifndef TOPDNN_NETWORKS_PARAMETERS_H_
#define TOPDNN_NETWORKS_PARAMETERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "networks/plan.h"

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
// the depth. The values depend only on the seed, the layer and the parameter, not on backend,
// layout, type or machine. Also computes prepared parameters.
void InitializeParameters(const Plan& plan, std::uint64_t seed,
                          ParameterDraw draw = ParameterDraw::kTraining);
// Draws one of these parameters, row-major. `place` is PlaceOf of its node.
std::vector<double> DrawParameter(std::string_view layer, const Parameter& parameter,
                                  std::uint64_t seed, NormPlace place,
                                  ParameterDraw draw = ParameterDraw::kTraining);
// Finds the place of a batch normalization. In an addition the shortcut is the last source.
NormPlace PlaceOf(const Graph& graph, const GraphNode& node);

// `count` values of the standard normal distribution, the same on every machine: Box and Muller
// 1958 on the 64-bit Mersenne Twister. (The C++ library's distribution may differ between
// implementations.)
std::vector<double> NormalValues(std::uint64_t seed, std::size_t count);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PARAMETERS_H_
