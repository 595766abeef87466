#include "kernels/conv/group_by_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace topdnn {

namespace {

constexpr std::string_view kActivations = "acdb";
constexpr std::string_view kGroupedWeights = "adecb";
constexpr std::string_view kWeights = "cdba";

bool IsActivation(Arg arg) {
  return arg == Arg::kSrc || arg == Arg::kDst || arg == Arg::kDiffSrc || arg == Arg::kDiffDst;
}
bool IsWeights(Arg arg) { return arg == Arg::kWeights || arg == Arg::kDiffWeights; }

class GroupByGroup : public Kernel {
 public:
  GroupByGroup(const KernelRequest& request, std::vector<std::unique_ptr<Kernel>> groups)
      : Kernel(request), groups_(std::move(groups)) {
    implementation_ = fmt::format("{} groups of {}", groups_.size(), groups_[0]->implementation());
    isa_ = groups_.front()->isa();
    for (const auto& group : groups_) {
      scratch_bytes_ += group->scratch_bytes();
      run_scratch_bytes_ = std::max(run_scratch_bytes_, group->run_scratch_bytes());
    }
    for (const KernelOperand& operand : groups_.front()->operands()) {
      if (IsActivation(operand.arg)) scratch_bytes_ += operand.desc.bytes();
    }
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    slices_.clear();
    for (const KernelOperand& operand : groups_.front()->operands()) {
      if (!IsActivation(operand.arg)) continue;
      const auto channels = static_cast<std::size_t>(operand.desc.shape[1]);
      slices_.push_back(
          {static_cast<float*>(memory.at(operand.arg)), operand.arg, operand.direction, channels,
           operand.desc.bytes() / (channels * sizeof(float)), AlignedMemory(operand.desc.bytes())});
    }
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      std::map<Arg, void*> own;
      if (const auto scratch = memory.find(Arg::kScratch); scratch != memory.end()) {
        own.insert(*scratch);
      }
      for (const Slice& slice : slices_) own[slice.arg] = slice.memory.data();
      for (const KernelOperand& operand : groups_[group]->operands()) {
        if (IsActivation(operand.arg)) continue;
        own[operand.arg] =
            static_cast<std::byte*>(memory.at(operand.arg)) + group * operand.desc.bytes();
      }
      groups_[group]->Prepare(own);
    }
  }

  void Run() noexcept override {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      for (const Slice& slice : slices_) {
        if (slice.direction == Direction::kIn) CopyOut(slice, group);
      }
      groups_[group]->Run();
      for (const Slice& slice : slices_) {
        if (slice.direction != Direction::kIn) CopyBack(slice, group);
      }
    }
  }

 private:
  // One group's channels of an activation.
  struct Slice {
    float* whole;  // (rows, groups * channels)
    Arg arg;
    Direction direction;
    std::size_t channels, rows;
    AlignedMemory memory;  // (rows, channels)
  };

  void CopyOut(const Slice& slice, std::size_t group) const {
    auto* part = reinterpret_cast<float*>(slice.memory.data());
    const float* whole = slice.whole + group * slice.channels;
    for (std::size_t row = 0; row < slice.rows; ++row) {
      std::memcpy(part + row * slice.channels, whole + row * slice.channels * groups_.size(),
                  slice.channels * sizeof(float));
    }
  }

  void CopyBack(const Slice& slice, std::size_t group) const {
    const auto* part = reinterpret_cast<const float*>(slice.memory.data());
    float* whole = slice.whole + group * slice.channels;
    for (std::size_t row = 0; row < slice.rows; ++row) {
      std::memcpy(whole + row * slice.channels * groups_.size(), part + row * slice.channels,
                  slice.channels * sizeof(float));
    }
  }

  const std::vector<std::unique_ptr<Kernel>> groups_;
  std::vector<Slice> slices_;
};

}  // namespace

KernelOrRefusal MakeGroupByGroup(const KernelRequest& request, const ConvOp& op,
                                 const std::function<KernelOrRefusal(const KernelRequest&)>& make) {
  KernelRequest settled = request;
  KernelRequest one = request;
  ConvExtents extents = op.extents();
  extents.c /= extents.groups;
  extents.k /= extents.groups;
  extents.groups = 1;
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
  return std::make_unique<GroupByGroup>(settled, std::move(groups));
}

}  // namespace topdnn
