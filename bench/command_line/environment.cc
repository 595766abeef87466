#include "bench/command_line/environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "bench/command_line/command.h"

namespace topdnn {

double SecondsInEnvironment(const char* variable, double otherwise) {
  constexpr double kLeast = 0.01;
  constexpr double kMost = 86400;
  const char* const given = std::getenv(variable);
  if (given == nullptr) return otherwise;
  const std::string_view text = given;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= kLeast) ||
      seconds > kMost) {
    throw UsageError(fmt::format("{}={}: must be a number of seconds from {} to {}", variable, text,
                                 kLeast, kMost));
  }
  return seconds;
}

}  // namespace topdnn
