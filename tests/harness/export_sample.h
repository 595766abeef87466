// A report written by hand, with everything that an export for another tool must handle: names that
// could break a format, stages without a valid time, absent values, and estimates.

#ifndef TOPDNN_TESTS_HARNESS_EXPORT_SAMPLE_H_
#define TOPDNN_TESTS_HARNESS_EXPORT_SAMPLE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/results/record.h"
#include "tests/process/child_process.h"

namespace topdnn {

// Quotes, a backslash, a pipe, backticks, a line break, markup, a control character, and bytes that
// are not UTF-8.
inline constexpr const char* kHostile =
    "a\"b'\\|`c`,\n# <b></script> *x* [l](u) @you\x1b[31m \xff\xfe";
// The same as one line: the escapes of harness/text/one_line.h.
inline constexpr const char* kHostileLine =
    "a\"b'\\|`c`,\\n# <b></script> *x* [l](u) @you\\u{1b}[31m \\xff\\xfe";

// A step of 10 ms (DEGRADED, 8 images) and these stages, in order:
//   conv1     forward           OK        2 ms  0.4 GFLOP, 4 MB, events, Top-Down
//   kHostile  forward           DEGRADED  3 ms
//   kHostile  forward           OK        1 ms  (the same name twice)
//   w         reorder           OK        0.5 ms, no FLOPs
//   conv1     backward_data     FAILED    0.777 s in its samples
//   pool1     backward_data     INVALID   0.8642 s
//   relu1     backward_data     SKIPPED   no time
//   conv1     update            OK        0.25 ms
// Estimates have the value 0.54321, which no export may contain.
Report ExportSample();

// The text of the file report of this name.
std::string ExportOf(const std::string& name, const Report& report);

// Adds the course of 3 warm-up and 2 timed iterations to the sample. Each stage takes its number
// (from 1) in milliseconds, and twice as long in the first iteration of the warm-up.
void AddIterations(Report& report);

// Runs a Python 3 program that reads `text` from the file named by its first argument.
Outcome RunPython(const std::string& program, const std::string& text);
bool HasPythonModule(const std::string& module);

// No export has a time that does not hold, an estimate, or a number that is not finite.
void ExpectOnlyValidFigures(const std::string& text);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_EXPORT_SAMPLE_H_
