// The reports of a run. Each report's file registers it, so adding a report means adding one file:
//
//   const ReportRegistration kJson(FileReport{
//       .name = "json", .help = "write the whole report to this file as JSON", .text = JsonText});
//
// A program offers each of them as the option --NAME, or as the format NAME of one option.

#ifndef TOPDNN_HARNESS_REPORT_REGISTRY_H_
#define TOPDNN_HARNESS_REPORT_REGISTRY_H_

#include <set>
#include <string>
#include <vector>

#include "harness/report/console.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// A report for other programs: a file. The option takes its path.
struct FileReport {
  std::string name;
  std::string help;
  std::string (*text)(const Report& report);
};

// A report for a person: a table, or nothing if the run has no figures for it.
struct TableReport {
  enum class Shown { kAlways, kUnlessQuiet, kOnRequest };  // on request: by the flag --NAME

  std::string name;
  std::string help = {};  // empty unless kOnRequest
  int place = 0;          // tables are printed in this order
  Shown shown = Shown::kUnlessQuiet;
  std::string (*text)(const Report& report, const Style& style, const ConsoleOptions& options);
};

// Throws std::logic_error if a report of that name is registered.
class ReportRegistration {
 public:
  explicit ReportRegistration(FileReport report);
  explicit ReportRegistration(TableReport report);
};

// Sorted by name.
const std::vector<FileReport>& FileReports();
// Sorted by place, then by name.
std::vector<TableReport> TableReports();

// The text of all tables to show. `requested`: the names of the requested tables.
std::string TablesText(const Report& report, const Style& style, const ConsoleOptions& options,
                       const std::set<std::string>& requested);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_REGISTRY_H_
