// The results that topdnn reads again: to compare them, to draw them, and to store them. Their
// kinds and keys are the JSON that the commands write.

#ifndef TOPDNN_BENCH_STUDIES_RESULTS_RESULT_FILE_H_
#define TOPDNN_BENCH_STUDIES_RESULTS_RESULT_FILE_H_

#include <nlohmann/json.hpp>
#include <string>

namespace topdnn {

enum class ResultKind {
  kProfile,
  kSweep,
  kComparison,
  kFleet,
  kSharing,
  kScheduling,
  kTrace,
  kGoogleBenchmark,
  kMachine
};

// "profile", "sweep", "comparison", "fleet", "corun", "cosched", "trace", "Google Benchmark",
// "machine".
std::string NameOf(ResultKind kind);

struct ResultFile {
  std::string path;  // as given
  ResultKind kind = ResultKind::kProfile;
  nlohmann::ordered_json json;
};

// The schema that this version writes and reads.
inline constexpr int kResultSchema = 1;

// {"schema", "command", "machine"}, and the pairs of `more`.
nlohmann::ordered_json NewResult(const nlohmann::ordered_json& more);

// The name of a sweep's index in its folder.
inline constexpr const char* kSweepIndex = "sweep.json";

// Reads a JSON file, or the index of a sweep's folder. Throws UsageError, in one line, for a file
// that cannot be read, that is not JSON, that has another schema, and that is no result; and for a
// folder without an index.
ResultFile ReadResult(const std::string& path);

// The text of a key; empty if the key is missing or has no text.
std::string TextAt(const nlohmann::ordered_json& json, const char* key);

// Reads one case of a sweep: the profile in `file`, a path relative to the sweep's folder. Throws
// as ReadResult, and UsageError for another kind of result.
ResultFile ReadSweepCase(const std::string& sweep_folder, const std::string& file);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_RESULTS_RESULT_FILE_H_
