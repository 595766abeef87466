#include "kernels/conv/group_by_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace topdnn {

namespace {

constexpr std::string_view kActivations = "acdb";
constexpr std::string_view kGroupedWeights = "adecb";
constexpr std::string_view kWeights = "cdba";

class GroupByGroup : public Kernel {
 public:
  GroupByGroup(const KernelRequest& request, std::vector<std::unique_ptr<Kernel>> groups,
               std::function<SwapOuter()> make_swap)
      : Kernel(request), groups_(std::move(groups)), make_swap_(std::move(make_swap)) {
    implementation_ = fmt::format("{} groups of {}", groups_.size(), groups_[0]->implementation());
    isa_ = groups_.front()->isa();
    for (const auto& group : groups_) {
      scratch_bytes_ += group->scratch_bytes();
      run_scratch_bytes_ = std::max(run_scratch_bytes_, group->run_scratch_bytes());
    }
    for (const KernelOperand& operand : groups_.front()->operands()) {
      if (IsActivation(operand.arg)) scratch_bytes_ += groups_.size() * operand.desc.bytes();
    }
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    swap_ = make_swap_();
    swapped_.clear();
    for (const KernelOperand& operand : groups_.front()->operands()) {
      if (!IsActivation(operand.arg)) continue;
      const std::int64_t channels = operand.desc.shape[1];
      swapped_.push_back({static_cast<float*>(memory.at(operand.arg)), operand.arg,
                          operand.direction, operand.desc.shape.elements() / channels, channels,
                          AlignedMemory(groups_.size() * operand.desc.bytes())});
    }
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      std::map<Arg, void*> own;
      if (const auto scratch = memory.find(Arg::kScratch); scratch != memory.end()) {
        own.insert(*scratch);
      }
      for (const Swapped& swapped : swapped_) {
        own[swapped.arg] =
            swapped.Data() + static_cast<std::int64_t>(group) * swapped.rows * swapped.channels;
      }
      for (const KernelOperand& operand : groups_[group]->operands()) {
        if (IsActivation(operand.arg)) continue;
        own[operand.arg] =
            static_cast<std::byte*>(memory.at(operand.arg)) + group * operand.desc.bytes();
      }
      groups_[group]->Prepare(own);
    }
  }

  void Run() noexcept override {
    const auto groups = static_cast<std::int64_t>(groups_.size());
    for (const Swapped& swapped : swapped_) {
      if (swapped.direction != Direction::kIn) continue;
      swap_(swapped.rows, groups, swapped.channels, swapped.whole, swapped.Data());
    }
    for (const auto& group : groups_) group->Run();
    for (const Swapped& swapped : swapped_) {
      if (swapped.direction == Direction::kIn) continue;
      swap_(groups, swapped.rows, swapped.channels, swapped.Data(), swapped.whole);
    }
  }

 private:
  // An activation with the groups outermost.
  struct Swapped {
    float* whole;  // (rows, groups, channels)
    Arg arg;
    Direction direction;
    std::int64_t rows, channels;
    AlignedMemory memory;  // (groups, rows, channels)

    float* Data() const { return reinterpret_cast<float*>(memory.data()); }
  };

  const std::vector<std::unique_ptr<Kernel>> groups_;
  const std::function<SwapOuter()> make_swap_;
  SwapOuter swap_;
  std::vector<Swapped> swapped_;
};

}  // namespace

KernelOrRefusal MakeGroupByGroup(const KernelRequest& request, const ConvOp& op,
                                 const std::function<KernelOrRefusal(const KernelRequest&)>& make,
                                 std::function<SwapOuter()> make_swap) {
  KernelRequest settled = request;
  KernelRequest one = request;
  const ConvExtents extents = OfOneGroup(op.extents());
  one.op = std::make_shared<ConvOp>(extents, op.epilogue());
  one.layouts.clear();
  for (const Operand& operand : op.Operands(request.execution)) {
    if (!IsActivation(operand.arg) && !IsWeights(operand.arg)) continue;
    const bool weights = IsWeights(operand.arg);
    const Layout layout = *Layout::Parse(weights ? kGroupedWeights : kActivations);
    const Layout asked = request.LayoutOf(operand.arg);
    if (!asked.is_any() && (asked.is_opaque() || !layout.SameFor(operand.shape, asked))) {
      return Refusal{fmt::format("group by group needs {} in layout {}, not {}",
                                 NameOf(operand.arg), layout.tag(), asked.tag())};
    }
    settled.layouts[operand.arg] = layout;
    one.layouts[operand.arg] = *Layout::Parse(weights ? kWeights : kActivations);
  }
  std::vector<std::unique_ptr<Kernel>> groups;
  for (std::int64_t group = 0; group < op.extents().groups; ++group) {
    KernelOrRefusal offer = make(one);
    if (auto* refusal = std::get_if<Refusal>(&offer)) return std::move(*refusal);
    groups.push_back(std::get<std::unique_ptr<Kernel>>(std::move(offer)));
  }
  return std::make_unique<GroupByGroup>(settled, std::move(groups), std::move(make_swap));
}

}  // namespace topdnn
