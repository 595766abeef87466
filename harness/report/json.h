// The JSON of a run, which scripts outside the repository read. Keys and their meaning are a
// contract: keys may be added, but not removed. A value that was not measured or is not finite is
// null.

#ifndef TOPDNN_HARNESS_REPORT_JSON_H_
#define TOPDNN_HARNESS_REPORT_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "harness/results/record.h"
#include "harness/statistics/interval.h"

namespace topdnn {

// null if absent, NaN or infinite.
nlohmann::ordered_json JsonNumber(std::optional<double> value);

// {"median", "min", "p90", "n"}; null if absent.
nlohmann::ordered_json SecondsJson(const std::optional<Summary>& seconds);

// [low, high]; null if absent.
nlohmann::ordered_json IntervalJson(const std::optional<Interval>& interval);

// {"name", "op", "pass", ..., "roofline"}. A FAILED record has no time. "seconds" has the
// times of the iterations in "samples", and their number in "samples_of" if some are left out.
nlohmann::ordered_json ToJson(const Record& record);

// {"schema": 1, "command", "machine", the subject's pairs, "step", "fed_step" if it was measured,
// "stages", "groups", "remainder_seconds", "measuring_seconds", "partial", "notes", and "memory"
// and "evolution" if the report has them}.
nlohmann::ordered_json ToJson(const Report& report);

// null for an empty text.
nlohmann::ordered_json TextOrNull(const std::string& text);

// Indented text with a newline at its end. Bytes that are not UTF-8 are replaced (U+FFFD).
std::string JsonText(const nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_JSON_H_
