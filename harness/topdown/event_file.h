// Reads counts that were recorded elsewhere from a file: topdnn's JSON, or the output of `perf stat
// -x` and `perf stat -j`.

#ifndef TOPDNN_HARNESS_TOPDOWN_EVENT_FILE_H_
#define TOPDNN_HARNESS_TOPDOWN_EVENT_FILE_H_

#include <string>
#include <string_view>

#include "harness/topdown/metric.h"
#include "harness/topdown/recorded_counts.h"

namespace topdnn {

// Recognises the format. `where` names the text in messages. Throws TopdownError.
RecordedCounts ParseRecordedCounts(std::string_view text, const std::string& where);

// Reads a file of at most 64 MiB. Throws TopdownError.
RecordedCounts ReadRecordedCounts(const std::string& path);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_EVENT_FILE_H_
