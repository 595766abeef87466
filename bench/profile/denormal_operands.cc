#include "bench/profile/denormal_operands.h"

#include <fmt/format.h>

#include "bench/workload/stage_calls.h"
#include "harness/measure/watched_run.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

std::string KindOf(Arg arg) {
  switch (arg.role) {
    case Arg::kDiffSrc:
    case Arg::kDiffWeights:
    case Arg::kDiffBias:
    case Arg::kDiffDst:
    case Arg::kDiffScale:
    case Arg::kDiffShift:
      return "gradients";
    case Arg::kWeights:
    case Arg::kBias:
    case Arg::kScale:
    case Arg::kShift:
      return "weights";
    default:
      return "values";
  }
}

}  // namespace

std::optional<FloatFormat> FloatFormatOf(DataType type) {
  switch (type) {
    case DataType::kF16:
      return FloatFormat::kF16;
    case DataType::kBF16:
      return FloatFormat::kBF16;
    case DataType::kF32:
      return FloatFormat::kF32;
    case DataType::kF64:
      return FloatFormat::kF64;
    default:
      return std::nullopt;
  }
}

std::vector<OperandDenormals> DenormalsOf(const Plan& plan, const Stage& stage, bool results,
                                          std::size_t most) {
  std::vector<OperandDenormals> found;
  for (const KernelOperand& operand : stage.kernel->operands()) {
    const std::optional<FloatFormat> format = FloatFormatOf(operand.desc.type);
    const Direction other = results ? Direction::kIn : Direction::kOut;
    if (!format || operand.direction == other) continue;
    // Elements as they lie in memory, so that no layout is opaque. Padding is zero.
    const std::size_t stored = operand.desc.bytes() / SizeOf(operand.desc.type);
    const auto elements = static_cast<double>(operand.desc.shape.elements());
    const double share =
        DenormalShare(*format, plan.Data(stage.buffers.at(operand.arg)), stored, most);
    found.push_back({.name = NameOf(operand.arg),
                     .kind = KindOf(operand.arg),
                     .result = results,
                     .share = share * static_cast<double>(stored) / elements});
  }
  return found;
}

std::string TextOf(const OperandDenormals& operand, const Stage& stage) {
  const bool same = operand.name == operand.kind;
  return fmt::format("the {}{} of {}", operand.kind, same ? "" : " " + operand.name,
                     LabelOf(stage));
}

PlanDenormals ScanForDenormals(Plan& plan) {
  constexpr std::size_t kMostRead = std::size_t{1} << 20;  // elements of an operand
  constexpr double kMany = 1e-3;
  const WatchedRun watched("the scan for denormals");
  const ThreadWidth width(plan.threads());
  PlanDenormals found;
  std::string first_of_many;
  std::size_t many = 0;
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Stage& stage = plan.stages()[i];
    std::string& first = found.by_stage.emplace_back();
    const auto look = [&](bool results) {
      for (const OperandDenormals& operand : DenormalsOf(plan, stage, results, kMostRead)) {
        if (operand.share <= 0) continue;
        const std::string text =
            fmt::format("{:.3g} % of {}", operand.share * 100, TextOf(operand, stage));
        if (first.empty()) first = text + " are denormal, so its time depends on the values";
        if (results || operand.share <= kMany) continue;
        if (many++ == 0) first_of_many = text;
      }
    };
    look(false);
    plan.RunStage(i);
    look(true);
  }
  if (many == 0) return found;
  found.note = fmt::format(
      "denormals: {}{}; some CPUs are many times slower with them: --experiment denormals measures "
      "it",
      first_of_many, many > 1 ? fmt::format(", and {} more operands", many - 1) : "");
  return found;
}

}  // namespace topdnn
