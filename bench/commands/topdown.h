// `topdnn topdown --cpu NAME --events FILE`: Top-Down from counts recorded elsewhere.

#ifndef TOPDNN_BENCH_COMMANDS_TOPDOWN_H_
#define TOPDNN_BENCH_COMMANDS_TOPDOWN_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "harness/topdown/event_file.h"

namespace topdnn {

// The JSON of the command: cpu, level1, level2, missing; and path, source, notes, advice.
nlohmann::ordered_json TopdownJson(const std::string& cpu, const RecordedCounts& recorded);

// Prints the table, and writes the JSON if a file is given ("-": to standard output, instead of the
// table). Returns the exit status; throws TopdownError for an unknown CPU or bad input.
int RunTopdown(const std::string& cpu, const std::string& events_file,
               const std::optional<std::string>& json_file);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMANDS_TOPDOWN_H_
