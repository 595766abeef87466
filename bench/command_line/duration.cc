#include "bench/command_line/duration.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "bench/command_line/command.h"

namespace topdnn {

namespace {

constexpr double kYear = 365.0 * 24 * 3600;

// Seconds of a unit; 0 for an unknown one.
double SecondsOfUnit(std::string_view unit) {
  if (unit.empty() || unit == "s") return 1;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3600;
  return 0;
}

}  // namespace

double ParseDuration(const std::string& option, const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const double unit = parsed.ec == std::errc()
                          ? SecondsOfUnit({parsed.ptr, static_cast<std::size_t>(end - parsed.ptr)})
                          : 0;
  const double seconds = number * unit;
  if (!(seconds > 0 && seconds <= kYear)) {
    throw UsageError(
        fmt::format("{} {}: must be a length of time like 90s, 15m or 1.5h", option, text));
  }
  return seconds;
}

std::string LongTimeText(double seconds) {
  constexpr double kHour = 3600;
  constexpr double kDay = 24 * kHour;
  constexpr double kJulianYear = 365.25 * kDay;
  if (seconds >= kJulianYear) return fmt::format("{:.3g} years", seconds / kJulianYear);
  if (seconds >= kDay) return fmt::format("{:.3g} days", seconds / kDay);
  if (seconds >= kHour) return fmt::format("{:.3g} hours", seconds / kHour);
  return fmt::format("{:.0f} minutes", seconds / 60);
}

}  // namespace topdnn
