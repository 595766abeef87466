// ONNX's element-wise functions of one tensor as rows of one table, for import and export.

#ifndef TOPDNN_NETWORKS_ONNX_NODES_UNARY_NODES_H_
#define TOPDNN_NETWORKS_ONNX_NODES_UNARY_NODES_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace topdnn {

struct UnaryNode {
  std::string_view op_type;
  std::string_view function;  // of kernels/eltwise/unary.h
  // The attributes with its parameters. A missing attribute has the function's default. Empty: the
  // function has no such parameter, or ONNX fixes it.
  const char* alpha = "";
  const char* beta = "";
  std::int64_t since_opset = 7;  // the oldest opset with this operation; 7 or older
};

std::span<const UnaryNode> UnaryNodes();

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_NODES_UNARY_NODES_H_
