#include "bench/workload/input_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/command_line/command.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

bool IsInteger(const ImportedInput& input) { return input.most > input.least; }

}  // namespace

double ElementOf(const ImportedInput& input, double number) {
  if (!IsInteger(input)) return number;
  if (input.most == 1) return number > 0 ? 1 : 0;
  constexpr double kPixels = 256, kDeviation = 64;
  if (input.most - input.least < kPixels) {
    const double middle = std::ceil((input.least + input.most) / 2);
    return std::clamp(std::nearbyint(middle + kDeviation * number), input.least, input.most);
  }
  return std::floor(std::abs(number));
}

void TakeElements(const ImportedInput& input, std::span<double> numbers) {
  if (input.type == DataType::kF16) {
    Tensor half(Shape{static_cast<std::int64_t>(numbers.size())}, DataType::kF16);
    FromDouble(numbers, half.desc(), half.data());
    const std::vector<double> rounded = ToDouble(half.desc(), half.data());
    std::copy(rounded.begin(), rounded.end(), numbers.begin());
  }
  if (!IsInteger(input)) return;
  for (const double number : numbers) {
    if (number == std::trunc(number) && number >= input.least && number <= input.most) continue;
    throw UsageError(
        fmt::format("input {} has the element {}, and the model takes {}s of {:.0f} to {:.0f}",
                    OneLine(input.name), number, NameOf(input.type), input.least, input.most));
  }
}

}  // namespace topdnn
