#include "networks/cancelled_parameters.h"

#include <vector>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/conv/conv.h"
#include "kernels/eltwise/add.h"
#include "kernels/inner_product/inner_product.h"

namespace topdnn {

namespace {

// Whether a constant added to each channel of a source adds a constant to each channel of the
// result.
bool PreservesConstants(const Op& op) {
  if (const auto* add = dynamic_cast<const AddOp*>(&op)) return !add->relu();
  const auto* conv = dynamic_cast<const ConvOp*>(&op);
  if (conv == nullptr || conv->epilogue().relu) return false;
  const ConvExtents& e = conv->extents();
  return e.pad_top == 0 && e.pad_left == 0 && e.pad_bottom == 0 && e.pad_right == 0;
}

// Whether the bias or shift of `op` is the last operation on its result.
bool EndsWithConstant(const Op& op) {
  if (const auto* norm = dynamic_cast<const BatchNormOp*>(&op)) return !norm->relu();
  if (const auto* conv = dynamic_cast<const ConvOp*>(&op)) return !conv->epilogue().relu;
  const auto* dense = dynamic_cast<const InnerProductOp*>(&op);
  return dense != nullptr && !dense->epilogue().relu;
}

// Per value: whether a constant added to each of its channels never changes the output.
std::vector<bool> CancelledConstants(const Graph& graph) {
  std::vector<bool> cancelled(graph.values().size(), true);
  cancelled[graph.output()] = false;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (dynamic_cast<const BatchNormOp*>(node->op.get()) != nullptr) continue;
    if (PreservesConstants(*node->op) && cancelled[node->output]) continue;
    for (const ValueId input : node->inputs) cancelled[input] = false;
  }
  return cancelled;
}

}  // namespace

std::set<std::pair<int, Arg>> CancelledParameters(const Graph& graph) {
  const std::vector<bool> cancelled = CancelledConstants(graph);
  std::set<std::pair<int, Arg>> found;
  for (int index = 0; index < static_cast<int>(graph.nodes().size()); ++index) {
    const GraphNode& node = graph.nodes()[index];
    if (!cancelled[node.output] || !EndsWithConstant(*node.op)) continue;
    for (const Parameter& parameter : node.op->Parameters()) {
      if (parameter.arg == Arg::kBias || parameter.arg == Arg::kShift) {
        found.insert({index, parameter.arg});
      }
    }
  }
  return found;
}

}  // namespace topdnn
