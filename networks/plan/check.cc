#include "networks/plan/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/check/difference.h"
#include "kernels/check/tolerance.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/kernel/variant.h"
#include "kernels/tensor/tensor_copy.h"

namespace topdnn {

namespace {

// What the reference's forward kernels saved for its backward kernels, by the plan's buffer. It
// cannot come from the plan, because each backend has its own format.
using SavedByReference = std::map<BufferId, Tensor>;

// The root of the sum of squares over a channel of (N, C, ...), row-major; the largest over all
// channels. It is the typical magnitude of the sum of a channel's elements with random signs.
double SumScale(const Shape& shape, const std::vector<double>& values) {
  if (shape.rank() < 2) return 0;
  const std::int64_t channels = shape[1];
  const std::int64_t image = shape.elements() / (shape[0] * channels);
  std::vector<double> squares(static_cast<std::size_t>(channels), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto channel = static_cast<std::int64_t>(i) / image % channels;
    squares[static_cast<std::size_t>(channel)] += values[i] * values[i];
  }
  return std::sqrt(*std::max_element(squares.begin(), squares.end()));
}

// Whether fewer than one element in a hundred differs from zero: any kernel that writes zeros would
// agree with the rest. (benchdnn calls such a result mistrusted.)
bool IsMostlyZero(const Difference& difference, const Shape& shape) {
  return static_cast<double>(difference.zeros()) > 0.99 * static_cast<double>(shape.elements());
}

class StageChecker {
 public:
  StageChecker(Plan& plan, const Stage& stage, SavedByReference& saved)
      : plan_(plan), stage_(stage), saved_(saved) {}

  StageCheck Check() {
    StageCheck check;
    // bf16 kernels are compared with f32 arithmetic on the same operands, which are already
    // rounded.
    Execution execution = stage_.execution;
    const std::optional<Variant> variant = FindVariant(stage_.variant);
    check.tolerance = Tolerance(*stage_.op, execution, variant ? variant->algorithm : "");
    if (execution.type != DataType::kF64) execution.type = DataType::kF32;
    KernelOrRefusal offer =
        MakeKernel("reference", {stage_.op, execution, plan_.threads(), {}, ""});
    if (const auto* refusal = std::get_if<Refusal>(&offer)) {
      stage_.kernel->Run();
      check.agrees = false;
      check.reason = fmt::format("the reference cannot check it: {}", refusal->reason);
      return check;
    }
    kernel_ = std::get<std::unique_ptr<Kernel>>(std::move(offer));
    BindReference();
    stage_.kernel->Run();
    kernel_->Run();
    Compare(check);
    if (const std::string failure = TakeRunFailure(); !failure.empty()) {
      check.agrees = false;
      check.reason = failure;
    }
    if (std::string failure = FailureOf(*stage_.kernel); !failure.empty()) {
      check.agrees = false;
      check.reason = std::move(failure);
    }
    AdoptReluMask();
    return check;
  }

 private:
  bool IsSaved(Arg arg) const {
    return plan_.buffers()[stage_.buffers.at(arg)].role == BufferRole::kSaved;
  }

  // Gives the reference its operands: copies of the tensors that the stage will read.
  void BindReference() {
    std::map<Arg, void*> memory;
    for (const KernelOperand& operand : kernel_->operands()) {
      const BufferId buffer = stage_.buffers.at(operand.arg);
      if (IsSaved(operand.arg)) {
        auto [entry, is_new] = saved_.try_emplace(buffer, operand.desc);
        memory[operand.arg] = entry->second.data();
        continue;
      }
      auto entry = tensors_.emplace(operand.arg, Tensor(operand.desc)).first;
      if (operand.direction != Direction::kOut) {
        const Contents read = ContentsOf(operand.arg);
        TensorCopy(read.desc, operand.desc).Run(read.data, entry->second.data());
      }
      memory[operand.arg] = entry->second.data();
    }
    kernel_->Prepare(memory);
  }

  // The contents of an operand of the stage, in the stage's own layout if others can read that.
  struct Contents {
    TensorDesc desc;
    const void* data = nullptr;
    std::vector<double> values;  // of an opaque layout
  };
  Contents ContentsOf(Arg arg) const {
    const TensorDesc& desc = stage_.kernel->Find(arg)->desc;
    const BufferId buffer = stage_.buffers.at(arg);
    if (!desc.layout.is_opaque()) return {desc, plan_.Data(buffer), {}};
    // (Member by member: reading may fail, and GCC 14 then destroys a half-initialized aggregate
    // twice.)
    Contents contents;
    contents.values = plan_.Read(buffer);
    contents.desc = {desc.shape, DataType::kF64, Layout::Plain(desc.shape.rank())};
    contents.data = contents.values.data();
    return contents;
  }

  // The scale for relative errors of a result that is a sum and may be near zero. 0: use the
  // result's largest entry. The operation gives the scale of dst. The others are sums over a
  // channel: the gradient of a bias or shift sums diff_dst, and that of a scale sums products of
  // diff_dst with numbers of unit variance. A mean is a sum of src.
  double ScaleOf(Arg arg) const {
    if (arg == Arg::kDst) {
      return stage_.op->MagnitudeOfDst(stage_.execution, [this](Arg operand) {
        const Tensor& tensor = tensors_.at(operand);
        return ToDouble(tensor.desc(), tensor.data());
      });
    }
    const bool gradient = arg == Arg::kDiffBias || arg == Arg::kDiffScale || arg == Arg::kDiffShift;
    if (!gradient && arg != Arg::kMean) return 0;
    const auto summed = tensors_.find(gradient ? Arg::kDiffDst : Arg::kSrc);
    if (summed == tensors_.end()) return 0;
    const TensorDesc& desc = summed->second.desc();
    const double sum = SumScale(desc.shape, ToDouble(desc, summed->second.data()));
    return gradient ? sum
                    : sum * static_cast<double>(desc.shape[1]) /
                          static_cast<double>(desc.shape.elements());
  }

  // Gives the reference's backward kernel the ReLU mask of the stage's result. When an input of the
  // ReLU is zero except for rounding, stage and reference may round to different sides, and their
  // backward passes would differ by a whole gradient. Compare has already checked that the results
  // agree within the tolerance.
  void AdoptReluMask() {
    const KernelOperand* passed = kernel_->Find(Arg::kWorkspace);
    const bool forward = stage_.execution.pass == Pass::kForward;
    if (!forward || !stage_.op->Traits().workspace_is_relu_mask || passed == nullptr) return;
    const Contents dst = ContentsOf(Arg::kDst);
    const std::vector<double> results = ToDouble(dst.desc, dst.data);
    auto* mask = saved_.at(stage_.buffers.at(Arg::kWorkspace)).as<std::uint8_t>();
    const auto bound = static_cast<double>(stage_.op->Traits().final_relu_bound.value_or(0.0F));
    for (std::size_t i = 0; i < results.size(); ++i) {
      mask[i] = results[i] > 0 && (bound == 0 || results[i] < bound) ? 1 : 0;
    }
  }

  void Compare(StageCheck& check) {
    for (const KernelOperand& operand : kernel_->operands()) {
      if (operand.direction == Direction::kIn || IsSaved(operand.arg)) continue;
      const Contents result = ContentsOf(operand.arg);
      const double rounding = RoundingOfResults(*stage_.op, stage_.execution.pass,
                                                stage_.kernel->Find(operand.arg)->desc.type);
      const Difference difference = DifferenceOf(result.desc, result.data, operand.desc,
                                                 tensors_.at(operand.arg).data(), rounding);
      check.mostly_zero |= IsMostlyZero(difference, operand.desc.shape);
      const double error = difference.Relative(ScaleOf(operand.arg));
      if (!(error <= check.error)) check.error = error;
      if (error <= check.tolerance) continue;
      check.agrees = false;
      check.reason = fmt::format(
          "{} differs from the reference by {:.3g} of its largest entry, {:.3g} allowed; its "
          "element {} is the first",
          NameOf(operand.arg), error, check.tolerance,
          FirstWrongElement(ToDouble(result.desc, result.data),
                            ToDouble(operand.desc, tensors_.at(operand.arg).data()),
                            check.tolerance, ScaleOf(operand.arg), rounding, operand.desc.shape));
    }
  }

  Plan& plan_;
  const Stage& stage_;
  SavedByReference& saved_;
  std::unique_ptr<Kernel> kernel_;
  std::map<Arg, Tensor> tensors_;
};

}  // namespace

std::vector<StageCheck> CheckStages(Plan& plan) {
  return CheckStages(plan, [](const Stage&) { return true; });
}

std::vector<StageCheck> CheckStages(Plan& plan, const std::function<bool(const Stage&)>& wanted) {
  const ThreadWidth width(plan.threads());
  SavedByReference saved;
  std::vector<StageCheck> checks;
  for (const Stage& stage : plan.stages()) {
    if (wanted(stage)) {
      checks.push_back(StageChecker(plan, stage, saved).Check());
    } else {
      stage.kernel->Run();
      checks.emplace_back();
    }
  }
  return checks;
}

}  // namespace topdnn
