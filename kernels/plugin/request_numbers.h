// The numbers of an operation's problem under the names that a plug-in asks for
// (topdnn_number_of): "stride_h", "groups", "alpha".

#ifndef TOPDNN_KERNELS_PLUGIN_REQUEST_NUMBERS_H_
#define TOPDNN_KERNELS_PLUGIN_REQUEST_NUMBERS_H_

#include <string>
#include <vector>

#include "kernels/op/op.h"
#include "kernels/plugin/topdnn/plugin.h"

namespace topdnn {

// Of conv, pool, inner_product and gemm; empty for other operations, whose operands and problem
// word say everything. The names are static.
std::vector<topdnn_number> NumbersOf(const Op& op);

// topdnn_request::algorithm.
std::string AlgorithmOf(const Op& op);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_PLUGIN_REQUEST_NUMBERS_H_
