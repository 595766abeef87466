#include "networks/onnx/import/constant_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "networks/planning/planner.h"

namespace topdnn {

namespace {

// The inputs whose elements an operation only moves. Its other inputs are places or conditions.
std::vector<std::size_t> MovedInputs(const ModelNode& node) {
  static const std::map<std::string, std::vector<std::size_t>> moved = {
      {"Compress", {0}},     {"Concat", {}},
      {"DepthToSpace", {0}}, {"Expand", {0}},
      {"Gather", {0}},       {"GatherElements", {0}},
      {"GatherND", {0}},     {"ReverseSequence", {0}},
      {"Scatter", {0, 2}},   {"ScatterElements", {0, 2}},
      {"ScatterND", {0, 2}}, {"Slice", {0}},
      {"SpaceToDepth", {0}}, {"Split", {0}},
      {"Tile", {0}},         {"Trilu", {0}},
      {"Where", {1, 2}}};
  const auto found = moved.find(node.op_type);
  if (found == moved.end()) return {};
  if (node.op_type != "Concat") return found->second;
  std::vector<std::size_t> all(node.inputs.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

bool IsWide(DataType type) {
  return type == DataType::kF64 || type == DataType::kS32 || type == DataType::kS64;
}

// Seconds of plain loops, and far more than the weights of any network need.
constexpr std::int64_t kMostFlops = std::int64_t{1} << 31;

class ConstantGraph {
 public:
  explicit ConstantGraph(NodeImport& node)
      : node_(node),
        renamed_(node.node()),
        state_{node.model(), node.options(), Graph("constants")} {
    // Two inputs may be the same constant, and have other parts in the graph.
    const std::set<std::string> outputs(renamed_.outputs.begin(), renamed_.outputs.end());
    for (std::size_t i = 0; i < renamed_.inputs.size(); ++i) {
      if (!node.Has(i)) continue;
      std::string name = fmt::format("input{}", i);
      while (outputs.contains(name)) name += "'";
      renamed_.inputs[i] = std::move(name);
    }
    for (std::size_t i = 0; i < node.inputs(); ++i) {
      if (node.Has(i)) wide_ |= IsWide(node.ConstantAt(i).type);
    }
    state_.is_of_constants = true;
    if (wide_) state_.most_exact = 0x1p53;
    FindMoved();
  }

  // Imports the node with all inputs as values of the graph, or only the first and the moved ones.
  void Import(const NodeTranslator& translate, bool all) {
    for (std::size_t i = 0; i < node_.inputs(); ++i) {
      if (!node_.Has(i)) continue;
      if (all || i == 0 || IsMoved(i)) {
        AddValue(i);
      } else {
        state_.values[renamed_.inputs[i]] = Constant(Constant(), &node_.ConstantAt(i));
      }
    }
    for (std::size_t o = 0; o < node_.node().outputs.size(); ++o) {
      if (!node_.IsRead(o)) continue;
      state_.readers[node_.node().outputs[o]] = {-1};
      state_.values[node_.node().outputs[o]] = std::monostate();
    }
    NodeImport import(state_, node_.index(), renamed_);
    translate(import);
  }

  void ProduceResults() {
    struct Result {
      std::size_t output;
      ImportedValue value;
    };
    std::vector<Result> results;
    std::vector<ValueId> computed;
    for (std::size_t o = 0; o < node_.node().outputs.size(); ++o) {
      if (!node_.IsRead(o)) continue;
      const NamedValue& value = state_.values.at(node_.node().outputs[o]);
      if (const auto* constant = std::get_if<Constant>(&value)) {
        node_.Produce(ModelTensor(**constant), o);
        continue;
      }
      if (std::holds_alternative<std::monostate>(value)) {
        throw UnsupportedNode(fmt::format("its result {}", o));
      }
      results.push_back({o, std::get<ImportedValue>(value)});
      const ValueId id = results.back().value.value;
      if (!state_.graph.IsInput(id)) computed.push_back(id);
    }
    std::map<ValueId, std::vector<double>> values;
    if (!computed.empty()) values = Run(computed);
    for (const auto& [output, value] : results) {
      node_.ReserveMemory(value.shape, DataType::kF64);
      node_.Produce(Named(ResultOf(value, state_.graph.IsInput(value.value)
                                              ? inputs_[static_cast<std::size_t>(value.value)]
                                              : values.at(value.value))),
                    output);
    }
  }

 private:
  bool IsMoved(std::size_t i) const {
    return std::find(moved_.begin(), moved_.end(), i) != moved_.end();
  }

  // Positions stand for the elements of these inputs, if they are of one type.
  void FindMoved() {
    moved_ = MovedInputs(node_.node());
    const bool one_type = std::all_of(moved_.begin(), moved_.end(), [&](std::size_t i) {
      return node_.Has(i) && node_.ConstantAt(i).type == node_.ConstantAt(moved_.front()).type;
    });
    if (!one_type) moved_.clear();
  }

  // An input of the graph. That of an empty tensor is no value, and that of moved elements has
  // their positions, from 1 on: 0 stays 0.
  void AddValue(std::size_t i) {
    const ModelTensor& constant = node_.ConstantAt(i);
    ImportedValue value{-1, constant.shape};
    value.type = OnnxTypeOf(constant);
    if (constant.elements() > 0) {
      node_.ReserveMemory(constant.shape, DataType::kF64);
      std::vector<double> elements;
      if (IsMoved(i)) {
        for (std::int64_t e = 0; e < constant.elements(); ++e) {
          elements.push_back(static_cast<double>(++positions_));
        }
        pieces_.push_back(&constant);
      } else {
        elements = ValuesOf(constant);
      }
      if (value.type == kOnnxInt32 || value.type == kOnnxInt64) {
        value.most = 0;
        for (const double x : elements) value.most = std::max(*value.most, std::abs(x));
      }
      const Shape shape = constant.shape.rank() == 0 ? Shape{1} : constant.shape;
      value.value = state_.graph.AddInput(shape, fmt::format("constant{}", i));
      inputs_.push_back(std::move(elements));
    }
    state_.values[renamed_.inputs[i]] = std::move(value);
  }

  std::map<ValueId, std::vector<double>> Run(const std::vector<ValueId>& computed) {
    const DataType type = wide_ || !moved_.empty() ? DataType::kF64 : DataType::kF32;
    std::int64_t flops = 0;
    for (const GraphNode& layer : state_.graph.nodes()) {
      flops += layer.op->WorkOf(Pass::kForward, type).flops;
      if (flops > kMostFlops) {
        throw UnsupportedNode(
            fmt::format("arithmetic on constants of more than {} FLOPs; export the "
                        "model with its constants computed",
                        kMostFlops));
      }
    }
    state_.graph.SetOutputs(computed);
    PlanRequest request;
    request.backend = "reference";
    request.training = false;
    request.type = type;
    request.memory_limit = node_.options().memory_limit;
    const std::unique_ptr<Plan> plan = MakePlan(state_.graph, request);
    plan->Allocate();
    WriteParameters(*plan, state_.parameters);
    for (std::size_t i = 0; i < inputs_.size(); ++i) plan->Write(plan->inputs()[i], inputs_[i]);
    plan->Run();
    std::map<ValueId, std::vector<double>> values;
    for (std::size_t i = 0; i < computed.size(); ++i) {
      values[computed[i]] = plan->Read(plan->outputs()[i]);
    }
    return values;
  }

  ModelTensor ResultOf(const ImportedValue& value, const std::vector<double>& elements) const {
    if (!moved_.empty()) return Moved(value.shape, elements);
    const bool real = value.type == kOnnxFloat || value.type == kOnnxDouble;
    const bool finite =
        std::all_of(elements.begin(), elements.end(), [](double x) { return std::isfinite(x); });
    if (!real && !finite) throw UnsupportedNode("an integer divided by 0, or of no number");
    DataType type = TypeOfElements(value.type);
    if (real && !casts_ && HasDouble()) type = DataType::kF64;
    if (casts_ && node_.node().Int("to", 0) == kOnnxFloat16) type = DataType::kF16;
    ModelTensor result = MakeTensor(value.shape, type, elements);
    result.boolean = value.type == kOnnxBool;
    return result;
  }

  bool HasDouble() const {
    for (std::size_t i = 0; i < node_.inputs(); ++i) {
      if (node_.Has(i) && node_.ConstantAt(i).type == DataType::kF64) return true;
    }
    return false;
  }

  // The elements at these positions. Elements that an operation adds are zeros.
  ModelTensor Moved(const Shape& shape, const std::vector<double>& positions) const {
    const ModelTensor& first = node_.ConstantAt(moved_.front());
    const std::size_t size = SizeOf(first.type);
    ModelTensor result{shape, first.type, std::string(positions.size() * size, '\0')};
    result.boolean = first.boolean;
    std::string all;
    for (const ModelTensor* piece : pieces_) all += piece->bytes;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto position = static_cast<std::size_t>(positions[i]);
      if (position > 0) std::memcpy(&result.bytes[i * size], &all[(position - 1) * size], size);
    }
    return result;
  }

  // With the node that computed the elements: this one, unless it only moves them.
  ModelTensor Named(ModelTensor result) const {
    if (moved_.empty() && !casts_) {
      result.computed_by = Describe(node_.node(), node_.index());
      return result;
    }
    for (std::size_t i = 0; i < node_.inputs(); ++i) {
      if (!node_.Has(i) || node_.ConstantAt(i).computed_by.empty()) continue;
      result.computed_by = node_.ConstantAt(i).computed_by;
    }
    return result;
  }

  NodeImport& node_;
  ModelNode renamed_;
  ImportState state_;
  bool wide_ = false;
  const bool casts_ = node_.node().op_type == "Cast";
  std::vector<std::size_t> moved_;
  std::int64_t positions_ = 0;
  std::vector<const ModelTensor*> pieces_;   // the moved constants, in the order of positions
  std::vector<std::vector<double>> inputs_;  // of the graph
};

// Returns why it cannot be computed in this way.
std::optional<std::string> WhyNot(NodeImport& node, const NodeTranslator& translate, bool all) {
  try {
    ConstantGraph graph(node);
    graph.Import(translate, all);
    graph.ProduceResults();
    return std::nullopt;
  } catch (const UnsupportedNode& error) {
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  } catch (const PlanError& error) {
    return error.what();
  } catch (const ParameterError& error) {
    return error.what();
  }
}

}  // namespace

void ComputeOnConstants(NodeImport& node, const NodeTranslator& translate) {
  // As values, all operands are exact. Places must be constants, which are checked.
  if (MovedInputs(node.node()).empty() && !WhyNot(node, translate, true)) return;
  if (const auto why = WhyNot(node, translate, false)) throw UnsupportedNode(*why);
}

}  // namespace topdnn
