#include "kernels/reorder/reorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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
  bool given = false;
  for (const DataType type : {DataType::kF32, DataType::kF64, DataType::kBF16, DataType::kF16,
                              DataType::kS64, DataType::kS32, DataType::kS8, DataType::kU8}) {
    const std::string_view text = NameOf(type);
    const auto* const digits = std::find_if(text.begin(), text.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
    const std::string letters(text.begin(), digits);
    const int number = word.WholeNumberOr(std::string(name) + letters, 0);
    given |= number != 0;
    if (number == std::stoi(std::string(digits, text.end()))) found = type;
  }
  if (given && !found) {
    throw std::invalid_argument(
        fmt::format("reorder: '_{}' needs an element type, such as _{}f32", name, name));
  }
  return found.value_or(DataType::kF32);
}

std::shared_ptr<const Op> ParseReorder(const ProblemWord& word) {
  return std::make_shared<ReorderOp>(word.shape(), TypeOfFlag(word, "from"),
                                     TypeOfFlag(word, "to"));
}

const ProblemRegistration kProblem("reorder", ParseReorder);

}  // namespace

}  // namespace topdnn
