// Values of a plan's parameters: seeded, read and written by their logical names, whatever layout
// the plan keeps them in.

#ifndef TOPDNN_NETWORKS_PARAMETERS_H_
#define TOPDNN_NETWORKS_PARAMETERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "networks/plan.h"

namespace topdnn {

enum class ParameterDraw {
  kTraining,  // what training starts with
  // For comparing one step between two implementations: shifts and biases keep most activations
  // away from the kink of their ReLU. Near it rounding decides whether a gradient passes, and in a
  // deep network two right implementations then differ by percents.
  kComparison,
};

// Draws every parameter: normal with variance 2 / fan-in (He et al. 2015, "Delving Deep into
// Rectifiers", equation 10), or the constant that the operation names; a batch normalization that
// ends a residual branch starts with a small scale, so that depth neither blows up activations nor
// gradients. The values depend on the seed, the layer and the parameter alone, not on backend,
// layout, type or machine. Prepares them.
void InitializeParameters(const Plan& plan, std::uint64_t seed,
                          ParameterDraw draw = ParameterDraw::kTraining);
// One parameter of those, row-major; `place` as PlaceOf says of its node.
std::vector<double> DrawParameter(std::string_view layer, const Parameter& parameter,
                                  std::uint64_t seed, NormPlace place,
                                  ParameterDraw draw = ParameterDraw::kTraining);
// An addition names its shortcut last.
NormPlace PlaceOf(const Graph& graph, const GraphNode& node);

// `count` values of the standard normal distribution, the same on every machine (Box and Muller
// 1958 on the 64-bit Mersenne Twister; the C++ library's own distribution may differ between
// implementations).
std::vector<double> NormalValues(std::uint64_t seed, std::size_t count);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PARAMETERS_H_
