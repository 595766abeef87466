// Reads counts that were recorded elsewhere from a file: topdnn's JSON, or the output of `perf stat
// -x` and `perf stat -j`.

#ifndef TOPDNN_HARNESS_TOPDOWN_EVENT_FILE_H_
#define TOPDNN_HARNESS_TOPDOWN_EVENT_FILE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/topdown/event_name.h"
#include "harness/topdown/metric.h"

namespace topdnn {

// One event's count, summed over the CPUs and intervals in the file.
struct RecordedCount {
  EventName event;
  std::string spelling;         // as in the file, for messages
  std::optional<double> value;  // absent: <not counted>, <not supported>, null
  double running_fraction = 1;  // the lowest one; below 1, perf has scaled the count
};

struct RecordedCounts {
  std::vector<RecordedCount> counts;
  bool smt = false;
};

// The largest value of a 64-bit counter.
inline constexpr double kMaxCount = 18446744073709551616.0;

// Recognises the format. `where` names the text in messages. Throws TopdownError.
RecordedCounts ParseRecordedCounts(std::string_view text, const std::string& where);

// Reads a file of at most 64 MiB. Throws TopdownError.
RecordedCounts ReadRecordedCounts(const std::string& path);

struct ResolvedCounts {
  std::map<std::string, double, std::less<>> counts;  // by the table's event names
  std::vector<std::string> notes;                     // multiplexed events, contradictions
};

// The counts that a table reads, found by the vendor's name, perf's name or the raw code. On hybrid
// CPUs the other core type's counts are omitted. Throws TopdownError if an event is listed twice
// with different counts.
ResolvedCounts ResolveCounts(const TopdownTable& table, const RecordedCounts& recorded);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_EVENT_FILE_H_
