// What the exports for other tools have in common: which times they contain, and the names of the
// benchmarks. Most tools have no place for a verdict, so INVALID and FAILED times are left out.

#ifndef TOPDNN_HARNESS_REPORT_EXPORTS_EXPORTED_H_
#define TOPDNN_HARNESS_REPORT_EXPORTS_EXPORTED_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/results/record.h"

namespace topdnn {

// Whether a tool without verdicts may get the record's figures: not if it is INVALID or FAILED.
bool MayBeExported(const Record& record);

// The time, if the record may be exported and its numbers are finite and above zero.
std::optional<Summary> ExportedTime(const Record& record);

// The member as text: empty if it is absent, null or structured.
std::string MemberText(const nlohmann::ordered_json& object, const char* key);

// The CPU and the operating system: "AMD EPYC (zen5), Linux 6.1.0-13-amd64 x86_64". Empty if the
// report does not have them.
std::string MachineText(const Report& report);

// One name for the step and one for each stage, for tools that compare runs by names:
// "cnn/training/batch 128/f32/onednn/threads 2/conv1 forward". A stage that was measured by itself
// has its regime at the end. The names are one line of UTF-8, differ from each other, and have at
// most 250 code points.
struct BenchmarkNames {
  std::string step;
  std::vector<std::string> stages;  // in the report's order
};
BenchmarkNames BenchmarkNamesOf(const Report& report);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_EXPORTS_EXPORTED_H_
