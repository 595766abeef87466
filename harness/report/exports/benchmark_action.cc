// The times of a profile for the GitHub action "Continuous Benchmark"
// (github.com/benchmark-action/github-action-benchmark, README, "customSmallerIsBetter"): an array
// of {"name", "unit", "value", "range", "extra"}. A record that is INVALID or FAILED, or was not
// timed, has no entry: the action compares values, and has no other place for a verdict than
// "extra".

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "harness/report/exports/exported.h"
#include "harness/report/json.h"
#include "harness/report/opening.h"
#include "harness/report/registry.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kPerSecond = 1e6;  // microseconds

// The lines of the tool tip.
std::string ExtraOf(const Record& record, const Summary& seconds, const Report& report) {
  std::string extra = StatusText(record.status, record.reason);
  extra += fmt::format("\ntimed steps: {}", seconds.n);
  if (!record.implementation.empty()) extra += "\nimplementation: " + record.implementation;
  if (const auto gflops = record.Gflops()) {
    extra += fmt::format("\nGFLOP/s: {}", FigureText(gflops));
  }
  if (const auto peak = record.PeakFraction()) {
    extra += fmt::format("\nof peak: {}", PercentText(peak));
  }
  const std::string machine = MachineText(report);
  return machine.empty() ? extra : extra + "\nmachine: " + machine;
}

void AddEntry(const std::string& name, const Record& record, const Report& report, Json& entries) {
  const auto seconds = ExportedTime(record);
  if (!seconds) return;
  entries.push_back({{"name", name},
                     {"unit", "us"},
                     {"value", JsonNumber(seconds->median * kPerSecond)},
                     {"range", fmt::format("min {}, p90 {}", ThreeDigits(seconds->min * kPerSecond),
                                           ThreeDigits(seconds->p90 * kPerSecond))},
                     {"extra", ExtraOf(record, *seconds, report)}});
}

std::string BenchmarkActionText(const Report& report) {
  const BenchmarkNames names = BenchmarkNamesOf(report);
  Json entries = Json::array();
  AddEntry(names.step, report.step, report, entries);
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    AddEntry(names.stages[i], report.stages[i], report, entries);
  }
  return JsonText(entries);
}

const ReportRegistration kBenchmarkAction(FileReport{
    .name = "benchmark-action",
    .help = "write the times to this file for github-action-benchmark "
            "(customSmallerIsBetter)",
    .text = BenchmarkActionText});

}  // namespace

}  // namespace topdnn
