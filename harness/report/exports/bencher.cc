// A profile in the Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format):
// {"BENCHMARK": {"MEASURE": {"value", "lower_value", "upper_value"}}}. Values are medians; the
// lower and the upper value are the minimum and the 90th percentile of a time. The format has no
// place for a verdict: an INVALID or FAILED record is left out, and a DEGRADED one is not marked.

#include <nlohmann/json.hpp>
#include <string>

#include "harness/report/exports/exported.h"
#include "harness/report/json.h"
#include "harness/report/registry.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// In nanoseconds, the unit of Bencher's measure "latency".
Json LatencyOf(const Summary& seconds) {
  return {{"value", JsonNumber(seconds.median * 1e9)},
          {"lower_value", JsonNumber(seconds.min * 1e9)},
          {"upper_value", JsonNumber(seconds.p90 * 1e9)}};
}

// `amount` per second.
Json RateOf(double amount, const Summary& seconds) {
  return {{"value", JsonNumber(amount / seconds.median)},
          {"lower_value", JsonNumber(amount / seconds.p90)},
          {"upper_value", JsonNumber(amount / seconds.min)}};
}

// A measure that Bencher does not have is created under its name.
Json MeasuresOf(const Record& record, const Summary& seconds) {
  Json measures = {{"latency", LatencyOf(seconds)}};
  if (record.Gflops()) measures["gflops"] = RateOf(*record.flops * 1e-9, seconds);
  return measures;
}

std::string BencherText(const Report& report) {
  const BenchmarkNames names = BenchmarkNamesOf(report);
  Json benchmarks = Json::object();
  if (const auto seconds = ExportedTime(report.step)) {
    Json& measures = benchmarks[names.step] = MeasuresOf(report.step, *seconds);
    if (report.items_per_step) {
      measures["images-per-second"] = RateOf(*report.items_per_step, *seconds);
    }
  }
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    if (const auto seconds = ExportedTime(report.stages[i])) {
      benchmarks[names.stages[i]] = MeasuresOf(report.stages[i], *seconds);
    }
  }
  return JsonText(benchmarks);
}

const ReportRegistration kBencher(FileReport{
    .name = "bencher",
    .help = "write times and rates to this file in the Bencher Metric Format",
    .text = BencherText});

}  // namespace

}  // namespace topdnn
