// Readings of an external power meter: a CSV file of times and watts.

#ifndef TOPDNN_HARNESS_COUNTERS_ENERGY_METER_H_
#define TOPDNN_HARNESS_COUNTERS_ENERGY_METER_H_

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// A file that is not of this form: one line that says what, where, and the fix.
class MeterError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct MeterReading {
  double time = 0;  // seconds since 1970, UTC
  double watts = 0;
};

// "TIME,WATTS" a line, in order of time. The first line may be a header; lines with # are comments.
// `where` names the text in messages. Throws MeterError.
std::vector<MeterReading> ParseMeterCsv(std::string_view text, const std::string& where);

// The mean power from `from` to `to`, with straight lines between the readings. Absent unless the
// readings cover the time, and at least two lie in it.
std::optional<double> MeanWatts(const std::vector<MeterReading>& readings, double from, double to);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_ENERGY_METER_H_
