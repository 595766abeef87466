#include "kernels/reduce/reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <stdexcept>

#include "kernels/extents.h"
#include "kernels/problem.h"

namespace topdnn {

std::string_view NameOf(ReduceAlgorithm algorithm) {
  return algorithm == ReduceAlgorithm::kSum ? "sum" : "mean";
}

ReduceOp::ReduceOp(ReduceAlgorithm algorithm, Shape shape, std::vector<int> axes, bool keep_dims)
    : algorithm_(algorithm),
      shape_(std::move(shape)),
      reduced_(static_cast<std::size_t>(shape_.rank()), false),
      keep_dims_(keep_dims) {
  CheckExtents(NameOf(algorithm), shape_);
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("{} of {} over axes {}: {}", NameOf(algorithm),
                                            shape_.ToString(), fmt::join(axes, ","), why));
  };
  if (shape_.rank() > kMaxAxes)
    refuse(fmt::format("at most {} dimensions are supported", kMaxAxes));
  if (axes.empty()) refuse("give one axis or more");
  for (const int axis : axes) {
    if (axis < 0 || axis >= shape_.rank()) refuse(fmt::format("there is no axis {}", axis));
    if (Reduces(axis)) refuse(fmt::format("duplicate axis {}", axis));
    reduced_[static_cast<std::size_t>(axis)] = true;
  }
}

Shape ReduceOp::kept_shape() const {
  std::vector<std::int64_t> extents = shape_.extents();
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (reduced_[d]) extents[d] = 1;
  }
  return Shape(std::move(extents));
}

Shape ReduceOp::dst_shape() const {
  if (keep_dims_) return kept_shape();
  std::vector<std::int64_t> extents;
  for (int d = 0; d < shape_.rank(); ++d) {
    if (!Reduces(d)) extents.push_back(shape_[d]);
  }
  return Shape(std::move(extents));
}

std::string ReduceOp::Problem() const {
  std::string axes;
  for (int d = 0; d < shape_.rank(); ++d) {
    if (Reduces(d)) axes += static_cast<char>('a' + d);
  }
  return fmt::format("{}{}_{}{}", NameOf(algorithm_), shape_.ToString(), axes,
                     keep_dims_ ? "_keep" : "");
}

std::vector<Operand> ReduceOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward && !TypesOf(execution).has_gradients) return {};
  return UnaryOperands(execution, shape_, dst_shape());
}

Work ReduceOp::WorkOf(Pass pass, DataType type) const {
  if (pass == Pass::kBackwardWeights) return {};
  Work work;
  if (pass == Pass::kForward) work.flops = shape_.elements();
  if (algorithm_ == ReduceAlgorithm::kMean) work.flops += dst_shape().elements();
  work.flops_without_padding = work.flops;
  work.bytes = CompulsoryBytes(*this, {pass, true, type});
  return work;
}

namespace {

// The axes named in the word. Tries all combinations of letters until the word contains one.
std::vector<int> AxesOf(const ProblemWord& word, int rank) {
  std::vector<int> found;
  for (unsigned combination = 1; combination < 1U << rank; ++combination) {
    std::vector<int> axes;
    std::string letters;
    for (int d = 0; d < rank; ++d) {
      if ((combination >> d & 1) == 0) continue;
      axes.push_back(d);
      letters += static_cast<char>('a' + d);
    }
    if (!word.Flag(letters)) continue;
    if (!found.empty()) throw std::invalid_argument("write all axes in one flag, such as _cd");
    found = std::move(axes);
  }
  if (found.empty()) throw std::invalid_argument("missing axes, such as _cd for the last two of 4");
  return found;
}

std::shared_ptr<const Op> ParseReduce(const ProblemWord& word) {
  const Shape shape = word.shape();
  if (shape.rank() > ReduceOp::kMaxAxes) {
    throw std::invalid_argument(
        fmt::format("at most {} dimensions are supported", ReduceOp::kMaxAxes));
  }
  const ReduceAlgorithm algorithm = word.name() == NameOf(ReduceAlgorithm::kMean)
                                        ? ReduceAlgorithm::kMean
                                        : ReduceAlgorithm::kSum;
  return std::make_shared<ReduceOp>(algorithm, shape, AxesOf(word, shape.rank()),
                                    word.Flag("keep"));
}

const ProblemRegistration kProblem("reduce", ParseReduce, {"sum", "mean"});

}  // namespace

}  // namespace topdnn
