// Reduction on Eigen in any unblocked layout. As in TensorFlow (reduction_ops_common.cc), adjacent
// dimensions that are all reduced or all kept are merged. If more than three dimensions remain, a
// shuffle first brings them into the order (kept, reduced). Loops on Eigen's pool compute other
// algorithms than sums and means.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "kernels/eigen/range_loop.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/reduce/loops.h"

namespace topdnn {

namespace {

// Dimensions that are adjacent in memory and all reduced or all kept.
struct Group {
  std::int64_t extent;
  bool reduced;
};

// In memory order, without dimensions of extent 1. Reduced and kept groups alternate.
std::vector<Group> GroupsOf(const ReduceOp& op, const Layout& layout) {
  std::vector<Group> groups;
  for (const char letter : layout.tag()) {
    const int d = letter - 'a';
    const std::int64_t extent = op.src_shape()[d];
    if (extent == 1) continue;
    if (groups.empty() || groups.back().reduced != op.Reduces(d)) {
      groups.push_back({extent, op.Reduces(d)});
    } else {
      groups.back().extent *= extent;
    }
  }
  return groups;
}

constexpr std::size_t kMaxGroups = 4;

// For at most three groups.
eigen::Reduction ReductionOf(const std::vector<Group>& groups) {
  eigen::Reduction reduction;
  if (groups.size() == 3 && groups[0].reduced) {
    reduction.keeps_middle = true;
    reduction.outer = groups[0].extent;
    reduction.middle = groups[1].extent;
    reduction.inner = groups[2].extent;
    return reduction;
  }
  bool before = true;  // until the reduced group is reached
  for (const Group& group : groups) {
    if (group.reduced) {
      reduction.middle = group.extent;
      before = false;
    } else {
      (before ? reduction.outer : reduction.inner) = group.extent;
    }
  }
  return reduction;
}

class ReduceEigen : public eigen::EigenKernel {
 public:
  ReduceEigen(const KernelRequest& request, const eigen::Functions& functions, const ReduceOp& op,
              const std::vector<Group>& groups)
      : EigenKernel(request, functions, groups.size() < kMaxGroups ? "sum" : "shuffle+sum") {
    if (groups.size() < kMaxGroups) {
      reduction_ = ReductionOf(groups);
    } else {
      // Kept and reduced groups alternate. Forward, the shuffle puts the kept ones first; backward,
      // it puts them back.
      const int kept = groups[0].reduced ? 1 : 0;
      const int sorted[kMaxGroups] = {kept, kept + 2, 1 - kept, 3 - kept};
      for (int i = 0; i < static_cast<int>(kMaxGroups); ++i) {
        const int place = sorted[i];
        const std::int64_t extent = groups[static_cast<std::size_t>(place)].extent;
        (i < 2 ? reduction_.outer : reduction_.middle) *= extent;
        extents_[forward() ? place : i] = extent;
        order_[forward() ? i : place] = forward() ? place : i;
      }
      ReserveScratch(op.src_shape().elements());
    }
    if (op.algorithm() == ReduceAlgorithm::kMean) {
      reduction_.divisor = static_cast<float>(op.count());
    }
  }

 private:
  void Compute() override {
    const bool shuffles = scratch_bytes() != 0;
    if (forward()) {
      const float* src = Data(Arg::kSrc);
      if (shuffles) {
        functions().shuffle(pool(), extents_, order_, src, Scratch());
        src = Scratch();
      }
      functions().sum(pool(), reduction_, src, Data(Arg::kDst));
    } else {
      float* diff_src = shuffles ? Scratch() : Data(Arg::kDiffSrc);
      functions().sum_backward(pool(), reduction_, Data(Arg::kDiffDst), diff_src);
      if (shuffles) functions().shuffle(pool(), extents_, order_, diff_src, Data(Arg::kDiffSrc));
    }
  }

  eigen::Reduction reduction_;
  // Of the shuffle, if there is one.
  std::int64_t extents_[kMaxGroups] = {};
  int order_[kMaxGroups] = {};
};

// The layout of the result: its dimensions in the memory order of the source's.
Layout ResultLayout(const ReduceOp& op, const Layout& src) {
  if (op.keep_dims()) return src;
  std::string tag;
  for (const char letter : src.tag()) {
    if (op.Reduces(letter - 'a')) continue;
    char renamed = letter;
    for (int d = 0; d < letter - 'a'; ++d)
      renamed = static_cast<char>(renamed - (op.Reduces(d) ? 1 : 0));
    tag += renamed;
  }
  return tag.empty() ? Layout::Plain(0) : *Layout::Parse(tag);
}

KernelOrRefusal MakeEigenReduce(const eigen::Functions& functions, KernelRequest& request,
                                const ReduceOp& op) {
  if (!op.IsLinear()) return eigen::MakeRange<ReduceLoop>(functions, request);
  const bool forward = request.execution.pass == Pass::kForward;
  const Arg whole = forward ? Arg::kSrc : Arg::kDiffSrc;
  const Arg result = forward ? Arg::kDst : Arg::kDiffDst;
  if (auto refusal = eigen::SettleUnblocked(request, whole)) return *std::move(refusal);
  const Layout layout = request.LayoutOf(whole);
  const Layout of_result = ResultLayout(op, layout);
  if (!of_result.is_any()) {
    if (auto refusal = eigen::Settle(request, result, {of_result.tag()})) {
      return *std::move(refusal);
    }
  }
  const std::vector<Group> groups = GroupsOf(op, layout);
  if (groups.size() > kMaxGroups) {
    return Refusal{
        fmt::format("eigen supports at most {} alternating groups of reduced and kept "
                    "dimensions, not {}",
                    kMaxGroups, groups.size())};
  }
  return std::make_unique<ReduceEigen>(request, functions, op, groups);
}

const eigen::Registration kReduceEigen("reduce", MakeEigenReduce);
const FidelityDeclaration kReduceEigenFidelity[] = {
    FidelityDeclaration(
        {"reduce",
         "eigen",
         Fidelity::kSame,
         "dimensions merged, then one expression for sums and means, after a shuffle when more "
         "than three groups remain; other functions are loops of ours",
         "reduction_ops_common.h",
         {Pass::kForward}}),
    FidelityDeclaration({"reduce",
                         "eigen",
                         Fidelity::kOurs,
                         "one expression divides and repeats the gradient, a second when a shuffle "
                         "follows; TensorFlow composes it of a reshape, a tile and a division",
                         "tensorflow/python/ops/math_grad.py",
                         {Pass::kBackwardData}}),
};

}  // namespace

}  // namespace topdnn
