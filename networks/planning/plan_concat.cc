#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "networks/planning/plan_steps.h"

namespace topdnn {

namespace {

// The byte offset of a part in the whole, when the whole stores the part in one contiguous piece.
// Otherwise nothing. `at` are the offsets of the whole's elements, in row-major order, and `first`
// is the index of the part's first element in this order.
std::optional<std::size_t> PlaceIn(const TensorDesc& whole, const std::vector<std::int64_t>& at,
                                   std::int64_t first, const TensorDesc& part) {
  if (part.type != whole.type || part.layout.is_opaque()) return std::nullopt;
  if (part.layout.PaddedElements(part.shape) != part.shape.elements()) return std::nullopt;
  const std::vector<std::int64_t> own = part.layout.Offsets(part.shape);
  const auto* in_whole = at.data() + first;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (in_whole[i] - own[i] != in_whole[0] - own[0]) return std::nullopt;
  }
  return static_cast<std::size_t>(in_whole[0] - own[0]) * SizeOf(whole.type);
}

class ConcatPlanner {
 public:
  explicit ConcatPlanner(PlanDraft& draft) : draft_(draft) {}

  void Plan() {
    for (std::size_t i = 0; i < draft_.stages.size();) {
      const Stage& stage = draft_.stages[i].stage;
      if (!RemoveIfInPlace(i)) {
        ++i;
        continue;
      }
      if (stage.pass == StagePass::kForward) {
        draft_.fused.dropped.push_back(fmt::format(
            "{}: its sources are written into its result, so it copies nothing", stage.name));
      }
      draft_.stages.erase(draft_.stages.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

 private:
  // Gives the parts memory inside the whole if possible. Returns whether the stage is then
  // unnecessary. The parts and the whole are the sources and the result of a concatenation, in the
  // backward pass their gradients.
  bool RemoveIfInPlace(std::size_t index) {
    const Stage& stage = draft_.stages[index].stage;
    const std::vector<std::int64_t> starts = stage.op->Traits().source_places;
    if (starts.empty()) return false;
    const bool forward = stage.pass == StagePass::kForward;
    const BufferId whole = stage.buffers.at(forward ? Arg::kDst : Arg::kDiffDst);
    const TensorDesc& desc = draft_.DescOf(whole);
    if (!IsFree(whole) || desc.layout.is_opaque()) return false;
    const std::vector<std::int64_t> at = desc.layout.Offsets(desc.shape);
    std::vector<BufferId> parts;
    std::vector<std::size_t> places;
    for (int i = 0; i < static_cast<int>(starts.size()); ++i) {
      const Arg arg = forward ? IndexedSrc(i) : IndexedDiffSrc(i);
      const auto part = stage.buffers.find(arg);
      if (part == stage.buffers.end() || !IsFree(part->second)) return false;
      if (std::count(parts.begin(), parts.end(), part->second) != 0) return false;
      const auto place =
          PlaceIn(desc, at, starts[static_cast<std::size_t>(i)], draft_.DescOf(part->second));
      if (!place || !MayShare(whole, part->second, index)) return false;
      parts.push_back(part->second);
      places.push_back(*place);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      draft_.buffers[parts[i]].parent = whole;
      draft_.buffers[parts[i]].parent_offset = places[i];
    }
    return true;
  }

  bool IsFree(BufferId buffer) const {
    return !draft_.buffers[buffer].persistent && draft_.buffers[buffer].parent < 0;
  }

  // Whether `buffer` is `bound` or contains it. A part of an earlier concatenation is in its
  // result.
  bool Contains(BufferId buffer, BufferId bound) const {
    while (bound >= 0 && bound != buffer) bound = draft_.buffers[bound].parent;
    return bound == buffer;
  }

  // How other stages use the memory of a buffer.
  struct Uses {
    bool before = false, after = false, written_after = false;
  };

  Uses UsesAround(BufferId buffer, std::size_t index) const {
    Uses uses;
    for (std::size_t i = 0; i < draft_.stages.size(); ++i) {
      if (i == index) continue;
      const Stage& stage = draft_.stages[i].stage;
      for (const auto& [arg, bound] : stage.buffers) {
        if (!Contains(buffer, bound)) continue;
        uses.before |= i < index;
        uses.after |= i > index;
        uses.written_after |= i > index && stage.kernel->Find(arg)->direction != Direction::kIn;
      }
    }
    return uses;
  }

  // Whether both buffers hold the same values at every stage in shared memory as in separate
  // memory. At most one of them may be used before the concatenation, and if both are used after
  // it, neither may be written there.
  bool MayShare(BufferId whole, BufferId part, std::size_t index) const {
    const Uses of_whole = UsesAround(whole, index);
    const Uses of_part = UsesAround(part, index);
    if (of_whole.before && of_part.before) return false;
    if (!of_whole.after || !of_part.after) return true;
    return !of_whole.written_after && !of_part.written_after;
  }

  PlanDraft& draft_;
};

}  // namespace

void DropCopiesOfConcats(PlanDraft& draft) { ConcatPlanner(draft).Plan(); }

}  // namespace topdnn
