#include "harness/counters/energy/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

constexpr double kMostTime = 1e11;  // year 5138
constexpr double kMostWatts = 1e6;

std::optional<double> NumberIn(std::string_view text) {
  const auto value = ParseNumber<double>(Trimmed(text));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// The power at a time between two readings.
double At(const MeterReading& a, const MeterReading& b, double time) {
  return a.watts + (b.watts - a.watts) * (time - a.time) / (b.time - a.time);
}

}  // namespace

std::vector<MeterReading> ParseMeterCsv(std::string_view text, const std::string& where) {
  std::vector<MeterReading> readings;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.front() == '#') continue;
    // (";" separates where "," is a decimal point, which is not read)
    const bool mixed = line.find(';') != std::string_view::npos && line.find(',') < line.size();
    const std::size_t comma = mixed ? std::string_view::npos : line.find_first_of(",;");
    const auto time = NumberIn(line.substr(0, comma));
    const auto watts =
        comma == std::string_view::npos
            ? std::nullopt
            : NumberIn(line.substr(comma + 1, line.find_first_of(",;", comma + 1) - comma - 1));
    if (!time && !watts && readings.empty()) continue;  // a header
    const bool valid = time && watts && *time >= 0 && *time <= kMostTime && *watts >= 0 &&
                       *watts <= kMostWatts && (readings.empty() || *time > readings.back().time);
    if (!valid) {
      throw MeterError(
          fmt::format("{}:{}: not TIME,WATTS after the time before: give seconds since 1970 and "
                      "watts, in order",
                      where, number));
    }
    readings.push_back({*time, *watts});
  }
  if (readings.empty()) {
    throw MeterError(fmt::format("{}: no reading: give lines of TIME,WATTS", where));
  }
  return readings;
}

std::optional<double> MeanWatts(const std::vector<MeterReading>& readings, double from, double to) {
  if (readings.empty() || !(to > from) || readings.front().time > from ||
      readings.back().time < to) {
    return std::nullopt;
  }
  double joules = 0;
  int within = 0;
  for (std::size_t i = 0; i + 1 < readings.size(); ++i) {
    const MeterReading &a = readings[i], &b = readings[i + 1];
    within += a.time >= from && a.time <= to ? 1 : 0;
    const double begin = std::max(a.time, from), end = std::min(b.time, to);
    if (end > begin) joules += (end - begin) * (At(a, b, begin) + At(a, b, end)) / 2;
  }
  within += readings.back().time <= to ? 1 : 0;
  return within >= 2 ? std::optional(joules / (to - from)) : std::nullopt;
}

}  // namespace topdnn
