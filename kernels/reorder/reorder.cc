#include "kernels/reorder/reorder.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

ReorderOp::ReorderOp(Shape shape, DataType from, DataType to)
    : shape_(std::move(shape)), from_(from), to_(to) {
  CheckExtents("reorder", shape_);
}

std::string ReorderOp::Problem() const {
  return fmt::format("{}_from{}_to{}", shape_.ToString(), NameOf(from_), NameOf(to_));
}

std::vector<Operand> ReorderOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  return {{Arg::kSrc, Direction::kIn, shape_, from_}, {Arg::kDst, Direction::kOut, shape_, to_}};
}

namespace {

// The type of "_fromf32": a flag "fromf" with the number 32. f32 without such a flag.
DataType TypeOfFlag(const ProblemWord& word, std::string_view name) {
  std::optional<DataType> found;
  for (const char* const letters : {"f", "bf", "s", "u"}) {
    const std::string flag = fmt::format("{}{}", name, letters);
    if (!word.Has(flag)) continue;
    const auto type = ParseDataType(fmt::format("{}{}", letters, word.WholeNumberOr(flag, 0)));
    if (found || !type) {
      throw std::invalid_argument(
          fmt::format("reorder: '_{}' needs an element type, such as _{}f32", name, name));
    }
    found = type;
  }
  return found.value_or(DataType::kF32);
}

std::shared_ptr<const Op> ParseReorder(const ProblemWord& word) {
  return std::make_shared<ReorderOp>(word.shape(), TypeOfFlag(word, "from"),
                                     TypeOfFlag(word, "to"));
}

const ProblemRegistration kReorderProblem("reorder", ParseReorder);

}  // namespace

}  // namespace topdnn
