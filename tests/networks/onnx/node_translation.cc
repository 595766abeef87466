#include "tests/networks/onnx/node_translation.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

namespace topdnn {

namespace {

const std::map<std::string, CaseTranslator>& Translators() {
  static const std::map<std::string, CaseTranslator> table = {
      {"Adam", TranslateAdam},
      {"Add", TranslateAdd},
      {"BatchNormalization", TranslateBatchNormalization},
      {"Concat", TranslateConcat},
      {"Dropout", TranslateDropout},
      {"Gemm", TranslateGemm},
      {"MatMul", TranslateMatMul},
      {"Momentum", TranslateMomentum},
      {"Softmax", TranslateSoftmax},
      {"SoftmaxCrossEntropyLoss", TranslateSoftmaxCrossEntropyLoss},
  };
  return table;
}

}  // namespace

std::vector<std::string> TranslatedOperations() {
  std::vector<std::string> operations;
  for (const auto& [op_type, translator] : Translators()) operations.push_back(op_type);
  return operations;
}

Translation Translate(const NodeCase& node) {
  const auto translator = Translators().find(node.op_type);
  if (translator == Translators().end()) return LeaveOut("no translator");
  const DataType type = node.Input(0)->type;
  if (type != DataType::kF32 && type != DataType::kF64) {
    return LeaveOut(fmt::format("tensors of type {}", NameOf(type)));
  }
  return translator->second(node);
}

Execution InferenceOf(const NodeCase& node) { return {Pass::kForward, false, node.Input(0)->type}; }

AxisView Around(const Shape& shape, std::int64_t axis) {
  if (axis < 0) axis += shape.rank();
  AxisView view{1, shape[static_cast<int>(axis)], 1};
  for (int d = 0; d < shape.rank(); ++d) {
    if (d < axis) view.outer *= shape[d];
    if (d > axis) view.inner *= shape[d];
  }
  return view;
}

std::vector<double> AxisLast(const std::vector<double>& values, const AxisView& view) {
  std::vector<double> moved;
  moved.reserve(values.size());
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      for (std::int64_t a = 0; a < view.along; ++a) {
        moved.push_back(values[static_cast<std::size_t>((o * view.along + a) * view.inner + i)]);
      }
    }
  }
  return moved;
}

std::vector<double> Broadcast(const OnnxTensor& from, const Shape& to) {
  const int missing = to.rank() - from.shape.rank();
  for (int d = 0; d < from.shape.rank(); ++d) {
    if (missing < 0 || (from.shape[d] != 1 && from.shape[d] != to[missing + d])) {
      throw std::invalid_argument(
          fmt::format("{} cannot be broadcast to {}", from.shape.ToString(), to.ToString()));
    }
  }
  std::vector<double> repeated(static_cast<std::size_t>(to.elements()));
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t position = 0;
    std::int64_t stride = 1;
    for (int d = to.rank() - 1; d >= 0; --d) {
      const std::int64_t index = rest % to[d];
      rest /= to[d];
      if (d < missing) continue;
      const std::int64_t extent = from.shape[d - missing];
      position += extent == 1 ? 0 : index * stride;
      stride *= extent;
    }
    repeated[i] = from.values[static_cast<std::size_t>(position)];
  }
  return repeated;
}

}  // namespace topdnn
