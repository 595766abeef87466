#include "bench/command_line/environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "bench/command_line/command.h"
#include "harness/text/parse_number.h"

namespace topdnn {

double SecondsInEnvironment(const char* variable, double otherwise) {
  constexpr double kLeast = 0.01;
  constexpr double kMost = 86400;
  const char* const given = std::getenv(variable);
  if (given == nullptr) return otherwise;
  const std::string_view text = given;
  const auto seconds = ParseNumber<double>(text);
  if (!(seconds >= kLeast && seconds <= kMost)) {
    throw UsageError(fmt::format("{}={}: must be a number of seconds from {} to {}", variable, text,
                                 kLeast, kMost));
  }
  return *seconds;
}

}  // namespace topdnn
