// Counts stored in a file and replayed: what was counted on a machine with a PMU can be analysed,
// and tested, on one without. The file is JSON: {"topdnn_counts": 1, "machine": {...}, "events":
// [NAME...], "regions": [{"name": ..., "counts": [n|null...], "running_fraction": [x...]}...]}.

#ifndef TOPDNN_HARNESS_COUNTERS_REPLAY_H_
#define TOPDNN_HARNESS_COUNTERS_REPLAY_H_

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/counters/source.h"

namespace topdnn {

// A recording that cannot be used: one line with what, where and the fix.
class ReplayError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RecordedRegion {
  std::string name;                // "conv1 forward"
  std::vector<EventCount> counts;  // one per event of the recording
};

struct Recording {
  nlohmann::ordered_json machine;  // harness/machine's description
  std::vector<std::string> events;
  std::vector<RecordedRegion> regions;  // in the order measured
};

inline constexpr int kRecordingVersion = 1;

std::string FormatRecording(const Recording& recording);

// `where` names the text in messages. Throws ReplayError for any other version, a missing or
// mistyped part, counts that do not match the events, negative or non-finite numbers.
Recording ParseRecording(std::string_view text, const std::string& where);

// Reads a file. Throws ReplayError.
Recording ReadRecording(const std::string& path);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_REPLAY_H_
