// Local functions of a model: a node that calls one becomes the function's nodes.

#ifndef TOPDNN_NETWORKS_ONNX_MODEL_FUNCTION_CALLS_H_
#define TOPDNN_NETWORKS_ONNX_MODEL_FUNCTION_CALLS_H_

#include <map>
#include <string>
#include <vector>

#include "networks/onnx/model/model.h"

namespace topdnn {

struct ModelFunction {
  std::vector<std::string> inputs, outputs;
  std::vector<ModelNode> nodes;
  std::map<std::string, ModelAttribute> defaults = {};  // of attributes that a call leaves out
};

// By op_type with domain, as ModelNode has it.
using ModelFunctions = std::map<std::string, ModelFunction>;

// Replaces each call, also those in functions. The new values and nodes have names of their own.
// An attribute that refers to one of the call has its default, or is left out, if the call does not
// have it. Throws OnnxError for functions that call each other in a circle, and for more than
// kMaxNodes nodes.
std::vector<ModelNode> WithoutCalls(const std::vector<ModelNode>& nodes,
                                    const ModelFunctions& functions);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_MODEL_FUNCTION_CALLS_H_
