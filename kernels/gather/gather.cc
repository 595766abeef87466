#include "kernels/gather/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

GatherOp::GatherOp(const GatherExtents& extents, bool constant)
    : extents_(extents), constant_(constant) {
  CheckExtents("gather", src_shape());
  CheckExtents("gather", dst_shape());
  constexpr std::int64_t kMostIndices = std::int64_t{1} << 24;  // whole numbers that f32 represents
  if (extents.extent > kMostIndices) {
    throw std::invalid_argument(
        fmt::format("gather of {} elements: an index must be below 2^24", extents.extent));
  }
}

std::string GatherOp::Problem() const {
  return fmt::format("{}_count{}{}", src_shape().ToString(), extents_.count,
                     constant_ ? "_constant" : "");
}

std::vector<Operand> GatherOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward || !TypesOf(execution).has_gradients) return {};
  const DataType type = execution.type;
  const GatherExtents& e = extents_;
  const std::int64_t unread = e.outer * std::max<std::int64_t>(e.extent - e.count, 0) * e.inner;
  return {{src_arg(), Direction::kIn, src_shape(), type, unread},
          {indices_arg(), Direction::kIn, Shape{extents_.count}, type},
          {Arg::kDst, Direction::kOut, dst_shape(), type}};
}

std::vector<Parameter> GatherOp::Parameters() const {
  if (!constant_) return {};
  return {{Arg::kWeights, Arg::kDiffWeights, "indices", Shape{extents_.count}, 0, 0.0}};
}

namespace {

std::shared_ptr<const Op> ParseGather(const ProblemWord& word) {
  const Shape& src = word.shape();
  if (src.rank() != 3) throw std::invalid_argument("give the source as OUTERxEXTENTxINNER");
  const std::vector<std::int64_t> count = word.WholeNumbers("count");
  if (count.size() != 1) throw std::invalid_argument("give one count of indices");
  return std::make_shared<GatherOp>(GatherExtents{src[0], src[1], src[2], count[0]},
                                    word.Flag("constant"));
}

const ProblemRegistration kGatherProblem("gather", ParseGather);

}  // namespace

}  // namespace topdnn
