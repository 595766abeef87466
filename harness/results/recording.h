// A file of a run's raw samples: a measurement on one machine (for example with a PMU) can be
// analysed and tested on another. The format is versioned JSON and includes the machine's
// description.
//
//   {"topdnn_recording": 1, "command": "...", "machine": {...}, "subject": {"network": "cnn", ...},
//    "smt": false, "in_network": SEQUENCE, "isolated": [SEQUENCE...],
//    "isolated_otherwise": [SEQUENCE...], "check_note": "", "overhead": null|{...},
//    "checks": [{"agrees": true, "reason": ""}...], "source_notes": ["..."]}
//   SEQUENCE = {"clock", "events": [NAME...], "event_passes": [0...], "run_events": [NAME...], ...,
//    "regions": [{"name", "seconds": [...], "counts": [[n|null...] per event], "running": ...}...]}
//   with the regions in the measured order and the step last.

#ifndef TOPDNN_HARNESS_RESULTS_RECORDING_H_
#define TOPDNN_HARNESS_RESULTS_RECORDING_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/mark_overhead.h"
#include "harness/measure/measure.h"

namespace topdnn {

struct Recording {
  // Whether a stage's result agreed with the reference in the check before timing.
  struct Check {
    bool agrees = true;
    std::string reason;
  };

  std::string command;
  nlohmann::ordered_json machine;  // as in a report
  nlohmann::ordered_json subject;  // network, batch, ...: a replay must have the same
  bool smt = false;                // hardware threads shared cores
  SequenceSamples in_network;
  std::vector<SequenceSamples> isolated;
  std::vector<SequenceSamples> isolated_otherwise;  // with caches in the other state: hot or cold
  std::string isolated_cut_short;                   // how a budget of time ended them; or empty
  std::optional<MarkOverhead> overhead;
  std::vector<Check> checks;
  std::string check_note;  // how they were made
  std::vector<std::string> source_notes;
};

inline constexpr int kRecordingVersion = 1;

std::string FormatRecording(const Recording& recording);

// `where` names the text in messages. Throws InputError for another version, a missing or
// mistyped part, series that do not match the events or each other, and negative or non-finite
// numbers.
Recording ParseRecording(std::string_view text, const std::string& where);

// Reads a file of at most 256 MiB. Throws InputError.
Recording ReadRecording(const std::string& path);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESULTS_RECORDING_H_
