#include "harness/report/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "harness/text/registered_list.h"

namespace topdnn {

namespace {

constinit RegisteredList<FileReport, &FileReport::name> files("report");
constinit RegisteredList<TableReport, &TableReport::name> tables("report");

// Each report is an option, so a file and a table of one name are duplicates too.
void RefuseDuplicate(const std::string& name, bool is_other_kind) {
  if (is_other_kind) {
    throw std::logic_error(
        fmt::format("the file and the table {} are one option: rename one", name));
  }
}

bool IsShown(const TableReport& table, bool quiet, const std::set<std::string>& requested) {
  switch (table.shown) {
    case TableReport::Shown::kAlways:
      return true;
    case TableReport::Shown::kUnlessQuiet:
      return !quiet;
    case TableReport::Shown::kOnRequest:
      return requested.contains(table.name);
  }
  return false;
}

}  // namespace

ReportRegistration::ReportRegistration(FileReport report) {
  RefuseDuplicate(report.name, tables.Contains(report.name));
  files.Add(std::move(report));
}

ReportRegistration::ReportRegistration(TableReport report) {
  RefuseDuplicate(report.name, files.Contains(report.name));
  tables.Add(std::move(report));
}

const std::vector<FileReport>& FileReports() { return files.entries(); }

std::vector<TableReport> TableReports() {
  std::vector<TableReport> sorted = tables.entries();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TableReport& a, const TableReport& b) { return a.place < b.place; });
  return sorted;
}

std::string TablesText(const Report& report, const Style& style, const ConsoleOptions& options,
                       const std::set<std::string>& requested) {
  std::string text;
  for (const TableReport& table : TableReports()) {
    if (IsShown(table, options.quiet, requested)) text += table.text(report, style, options);
  }
  return text;
}

}  // namespace topdnn
