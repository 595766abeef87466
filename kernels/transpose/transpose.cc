#include "kernels/transpose/transpose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

Shape Transposed(const Shape& src, const std::vector<int>& order) {
  CheckExtents("transpose", src);
  std::vector<int> all(static_cast<std::size_t>(src.rank()));
  std::iota(all.begin(), all.end(), 0);
  constexpr int kLetters = 26;
  if (src.rank() == 0 || src.rank() > kLetters ||
      !std::is_permutation(order.begin(), order.end(), all.begin(), all.end())) {
    throw std::invalid_argument(
        fmt::format("transpose of {} to the order {}: it needs 1 to {} dimensions, and each of "
                    "them once, from 0 on",
                    src.ToString(), fmt::join(order, ","), kLetters));
  }
  std::vector<std::int64_t> extents;
  extents.reserve(order.size());
  for (const int d : order) extents.push_back(src[d]);
  return Shape(std::move(extents));
}

}  // namespace

Permutation Transposition::Between(const Layout& from_layout, const Layout& to_layout) const {
  std::vector<std::int64_t> extents;
  for (const char letter : from_layout.tag()) extents.push_back(shape[letter - 'a']);
  std::vector<int> places;
  for (const char letter : to_layout.tag()) {
    const int dimension = order[static_cast<std::size_t>(letter - 'a')];
    places.push_back(static_cast<int>(from_layout.tag().find(static_cast<char>('a' + dimension))));
  }
  return Simplified(extents, places);
}

TransposeOp::TransposeOp(Shape src, std::vector<int> order)
    : src_(std::move(src)), order_(std::move(order)), dst_(Transposed(src_, order_)) {}

Transposition TransposeOp::In(Pass pass) const {
  if (pass == Pass::kForward) return {Arg::kSrc, Arg::kDst, src_, order_};
  std::vector<int> back(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    back[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
  }
  return {Arg::kDiffDst, Arg::kDiffSrc, dst_, std::move(back)};
}

std::string TransposeOp::Problem() const {
  return fmt::format("{}_order{}", src_.ToString(), fmt::join(order_, "x"));
}

std::vector<Operand> TransposeOp::Operands(const Execution& execution) const {
  return UnaryOperands(execution, src_, dst_);
}

namespace {

std::shared_ptr<const Op> ParseTranspose(const ProblemWord& word) {
  const Shape shape = word.shape();
  std::vector<int> order;
  for (const std::int64_t number : word.WholeNumbers("order")) {
    if (number < 0 || number >= shape.rank()) {
      throw std::invalid_argument(fmt::format("the order cannot contain dimension {}", number));
    }
    order.push_back(static_cast<int>(number));
  }
  return std::make_shared<TransposeOp>(shape, std::move(order));
}

const ProblemRegistration kTransposeProblem("transpose", ParseTranspose);

}  // namespace

}  // namespace topdnn
