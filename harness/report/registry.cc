#include "harness/report/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace topdnn {

namespace {

// Filled by registration objects before main, in any order; hence function-local objects.
std::vector<FileReport>& TheFileReports() {
  static std::vector<FileReport> reports;
  return reports;
}

std::vector<TableReport>& TheTableReports() {
  static std::vector<TableReport> reports;
  return reports;
}

void RefuseDuplicate(const std::string& name) {
  const auto same = [&name](const auto& report) { return report.name == name; };
  if (std::any_of(TheFileReports().begin(), TheFileReports().end(), same) ||
      std::any_of(TheTableReports().begin(), TheTableReports().end(), same)) {
    throw std::logic_error(fmt::format("two reports are named {}: rename one", name));
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
  RefuseDuplicate(report.name);
  auto& reports = TheFileReports();
  const auto place =
      std::lower_bound(reports.begin(), reports.end(), report,
                       [](const FileReport& a, const FileReport& b) { return a.name < b.name; });
  reports.insert(place, std::move(report));
}

ReportRegistration::ReportRegistration(TableReport report) {
  RefuseDuplicate(report.name);
  auto& reports = TheTableReports();
  const auto place = std::lower_bound(
      reports.begin(), reports.end(), report, [](const TableReport& a, const TableReport& b) {
        return std::tie(a.place, a.name) < std::tie(b.place, b.name);
      });
  reports.insert(place, std::move(report));
}

const std::vector<FileReport>& FileReports() { return TheFileReports(); }

const std::vector<TableReport>& TableReports() { return TheTableReports(); }

std::string TablesText(const Report& report, const Style& style, const ConsoleOptions& options,
                       const std::set<std::string>& requested) {
  std::string text;
  for (const TableReport& table : TableReports()) {
    if (IsShown(table, options.quiet, requested)) text += table.text(report, style, options);
  }
  return text;
}

}  // namespace topdnn
