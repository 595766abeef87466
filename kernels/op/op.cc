#include "kernels/op/op.h"

#include <fmt/format.h>

#include <array>

namespace topdnn {

namespace {

constexpr std::array<std::string_view, 3> kPassNames = {"forward", "backward_data",
                                                        "backward_weights"};

constexpr std::array<std::string_view, Arg::kRoles> kRoleNames = {
    "src",           "weights",    "bias",          "dst",    "diff_src", "diff_weights",
    "diff_bias",     "diff_dst",   "workspace",     "mean",   "variance", "scale",
    "shift",         "diff_scale", "diff_shift",    "labels", "loss",     "momentum",
    "second_moment", "step",       "learning_rate", "sum",    "scratch"};

}  // namespace

std::string_view NameOf(Pass pass) { return kPassNames[static_cast<std::size_t>(pass)]; }

std::optional<Pass> ParsePass(std::string_view name) {
  for (std::size_t i = 0; i < kPassNames.size(); ++i) {
    if (kPassNames[i] == name) return static_cast<Pass>(i);
  }
  return std::nullopt;
}

std::string NameOf(Arg arg) {
  const std::string_view role = kRoleNames[static_cast<std::size_t>(arg.role)];
  return arg.is_indexed() ? fmt::format("{}_{}", role, arg.index) : std::string(role);
}

OperandTypes TypesOf(const Execution& execution) {
  const DataType type = execution.type;
  switch (type) {
    case DataType::kBF16:
    case DataType::kF16:
      return {type, type, type, DataType::kF32, true};
    case DataType::kS8:
    case DataType::kU8:
      return {type, DataType::kS8, DataType::kS32, DataType::kS32, false};
    default:
      return {type, type, type, type, true};
  }
}

std::optional<Operand> Op::Find(const Execution& execution, Arg arg) const {
  for (const Operand& operand : Operands(execution)) {
    if (operand.arg == arg) return operand;
  }
  return std::nullopt;
}

std::shared_ptr<const Op> Op::FusedWith(const Op& /*next*/) const { return nullptr; }

std::shared_ptr<const Op> Op::FoldedWith(const Op& /*next*/) const { return nullptr; }

std::shared_ptr<const Op> Op::ChainedWith(const Op& /*next*/) const { return nullptr; }

bool Op::MayRecompute(const Execution& execution) const {
  Execution with_workspace = execution;
  with_workspace.recomputes = false;
  return Find(with_workspace, Arg::kWorkspace) && !Find(Recomputing(execution), Arg::kWorkspace);
}

double Op::MagnitudeOfDst(const Execution& /*execution*/,
                          const std::function<std::vector<double>(Arg)>& /*values*/) const {
  return 0;
}

std::vector<Operand> UnaryOperands(const Execution& execution, const Shape& src, const Shape& dst) {
  switch (execution.pass) {
    case Pass::kForward:
      return {{Arg::kSrc, Direction::kIn, src, execution.type},
              {Arg::kDst, Direction::kOut, dst, execution.type}};
    case Pass::kBackwardData:
      return {{Arg::kDiffDst, Direction::kIn, dst, execution.type},
              {Arg::kDiffSrc, Direction::kOut, src, execution.type}};
    case Pass::kBackwardWeights:
      break;
  }
  return {};
}

Work Op::WorkIn(const Execution& execution) const {
  const Arithmetic done = ArithmeticOf(execution);
  return {.macs = done.macs,
          .flops = done.flops,
          .flops_without_padding = done.flops_without_padding.value_or(done.flops),
          .bytes = CompulsoryBytes(*this, execution)};
}

std::int64_t CompulsoryBytes(const Op& op, const Execution& execution) {
  std::int64_t bytes = 0;
  for (const Operand& operand : op.Operands(execution)) {
    const auto size = (operand.shape.elements() - operand.unread) *
                      static_cast<std::int64_t>(SizeOf(operand.type));
    bytes += operand.direction == Direction::kInOut ? 2 * size : size;
  }
  return bytes;
}

}  // namespace topdnn
