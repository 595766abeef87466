#include "kernels/plugin/plugin_kernel.h"

#include <fmt/format.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/plugin/request_numbers.h"
#include "kernels/tensor/addressing.h"

namespace topdnn {

namespace {

int32_t DirectionOf(Direction direction) {
  switch (direction) {
    case Direction::kIn:
      return TOPDNN_READ;
    case Direction::kOut:
      return TOPDNN_WRITE;
    case Direction::kInOut:
      break;
  }
  return TOPDNN_READ_WRITE;
}

// The operands in the plug-in's form, with the text and the numbers that they point to.
class OperandList {
 public:
  void Add(Arg arg, Direction direction, const Shape& shape, DataType type) {
    const auto& extents = numbers_.emplace_back(shape.extents());
    topdnn_operand& operand = operands_.emplace_back();
    operand = {};
    operand.role = texts_.emplace_back(NameOf(arg)).c_str();
    operand.direction = DirectionOf(direction);
    operand.type = texts_.emplace_back(NameOf(type)).c_str();
    operand.rank = shape.rank();
    operand.extents = extents.data();
  }
  void SetLayout(const Layout& layout) {
    operands_.back().layout = texts_.emplace_back(layout.tag()).c_str();
  }
  void SetMemory(const KernelOperand& operand, void* data) {
    SetLayout(operand.desc.layout);
    operands_.back().data = data;
    const auto& strides = numbers_.emplace_back(StridesOf(operand.desc));
    operands_.back().strides = strides.empty() ? nullptr : strides.data();
  }

  std::vector<topdnn_operand>& operands() { return operands_; }

 private:
  // Of each dimension; empty for a layout with blocks.
  static std::vector<std::int64_t> StridesOf(const TensorDesc& desc) {
    const std::optional<ParsedTag> tag = ParseTag(desc.layout.tag());
    if (!tag || !tag->blocks.empty()) return {};
    std::vector<std::int64_t> strides(static_cast<std::size_t>(desc.shape.rank()), 1);
    std::int64_t stride = 1;
    for (auto dimension = tag->outer.rbegin(); dimension != tag->outer.rend(); ++dimension) {
      if (*dimension >= desc.shape.rank()) continue;  // (a scalar)
      strides[static_cast<std::size_t>(*dimension)] = stride;
      stride *= desc.shape[*dimension];
    }
    return strides;
  }

  std::vector<topdnn_operand> operands_;
  std::list<std::string> texts_;
  std::list<std::vector<std::int64_t>> numbers_;
};

// The layout that the plug-in names, or row-major.
Layout LayoutNamed(const char* tag, const Operand& operand) {
  if (tag == nullptr) return Layout::Plain(operand.shape.rank());
  if (std::optional<Layout> layout = Layout::Parse(tag)) {
    try {
      ParsedFor(tag, operand.shape);
      return *std::move(layout);
    } catch (const std::invalid_argument&) {
      // (of another rank)
    }
  }
  throw KernelFailed(fmt::format("create gives {} the layout '{}', which is none for {}",
                                 NameOf(operand.arg), TextOf(tag), operand.shape.ToString()));
}

}  // namespace

PluginKernel::PluginKernel(const PluginLibrary& plugin, const KernelRequest& request)
    : Kernel(request), table_(*plugin.table), training_(request.execution.training) {}

PluginKernel::~PluginKernel() {
  if (state_ != nullptr) table_.destroy(state_);
}

std::variant<std::unique_ptr<PluginKernel>, Refusal> PluginKernel::Make(
    const PluginLibrary& plugin, const KernelRequest& request) {
  const Op& op = *request.op;
  if (std::string why = RecomputingRefusal(request, "the plug-in's passes"); !why.empty()) {
    return Refusal{std::move(why)};
  }
  if (std::string why = FunctionRefusal("a plug-in computes", *request.op, request.execution.pass);
      !why.empty()) {
    return Refusal{std::move(why)};
  }
  const std::vector<Operand> operands = op.Operands(request.execution);
  OperandList list;
  for (const Operand& operand : operands) {
    list.Add(operand.arg, operand.direction, operand.shape, operand.type);
    const Layout wanted = request.LayoutOf(operand.arg);
    if (!wanted.is_any()) list.SetLayout(wanted);
  }
  const std::vector<topdnn_number> numbers = NumbersOf(op);
  const std::string kind(op.kind());
  const std::string pass(NameOf(request.execution.pass));
  const std::string type(NameOf(request.execution.type));
  const std::string problem = op.Problem();
  const std::string algorithm = AlgorithmOf(op);
  topdnn_request asked = {};
  asked.size = sizeof asked;
  asked.operation = kind.c_str();
  asked.pass = pass.c_str();
  asked.type = type.c_str();
  asked.problem = problem.c_str();
  asked.algorithm = algorithm.c_str();
  asked.training = request.execution.training ? 1 : 0;
  asked.threads = request.threads;
  asked.number_count = static_cast<std::uint32_t>(numbers.size());
  asked.numbers = numbers.data();
  asked.operand_count = static_cast<std::uint32_t>(operands.size());
  asked.operands = list.operands().data();
  topdnn_kernel offered = {};
  offered.size = sizeof offered;
  if (const char* why = plugin.table->create(&asked, &offered); why != nullptr) {
    return Refusal{fmt::format("plug-in {}: {}", plugin.name, TextOf(why))};
  }
  std::unique_ptr<PluginKernel> kernel(new PluginKernel(plugin, request));
  kernel->state_ = offered.state;
  kernel->implementation_ =
      offered.implementation == nullptr ? plugin.name : TextOf(offered.implementation);
  kernel->isa_ = TextOf(offered.isa);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Layout layout = LayoutNamed(asked.operands[i].layout, operands[i]);
    const Layout wanted = request.LayoutOf(operands[i].arg);
    if (!wanted.is_any() && !layout.SameFor(operands[i].shape, wanted)) {
      return Refusal{fmt::format("plug-in {} computes {} in {}, not in {}", plugin.name,
                                 NameOf(operands[i].arg), layout.tag(), wanted.tag())};
    }
    kernel->operands_[i].desc.layout = layout;
  }
  return kernel;
}

void PluginKernel::Prepare(const std::map<Arg, void*>& memory) {
  OperandList list;
  for (const KernelOperand& operand : operands_) {
    list.Add(operand.arg, operand.direction, operand.desc.shape, operand.desc.type);
    list.SetMemory(operand, memory.at(operand.arg));
  }
  loaded_ = false;
  const char* const why = table_.prepare(state_, list.operands().data(),
                                         static_cast<std::uint32_t>(list.operands().size()));
  if (why != nullptr) throw KernelFailed(fmt::format("prepare fails: {}", TextOf(why)));
}

const char* PluginKernel::LoadIfDue() noexcept {
  if (loaded_ || table_.load == nullptr) return nullptr;
  const char* const why = table_.load(state_);
  loaded_ = why == nullptr;
  return why;
}

void PluginKernel::Run() noexcept {
  if (LoadIfDue() != nullptr) return RecordRunFailure("the plug-in's load", -1);
  if (const int32_t status = table_.run(state_); status != 0) {
    RecordRunFailure("the plug-in's run", status);
  }
  if (training_) loaded_ = false;
}

}  // namespace topdnn
