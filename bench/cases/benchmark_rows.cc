#include "bench/cases/benchmark_rows.h"

#include <fmt/format.h>

#include <utility>

namespace topdnn {

void ReplaySamples(std::span<const double> samples, benchmark::State& state) {
  std::size_t next = 0;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    state.SetIterationTime(samples[next]);
    next = (next + 1) % samples.size();
  }
}

void SetCounter(const std::string& name, std::optional<double> value, benchmark::State& state) {
  if (value) state.counters[name] = *value;
}

void SetRecord(const Record& record, const std::string& what, benchmark::State& state) {
  state.SetLabel(record.status == Status::kOk
                     ? what
                     : fmt::format("{} {}: {}", what, NameOf(record.status), record.reason));
  SetCounter("median_s", record.seconds->median, state);
  SetCounter("min_s", record.seconds->min, state);
  SetCounter("p90_s", record.seconds->p90, state);
  if (!record.left_out.empty()) {
    double left_out = 0;
    for (const auto& [reason, samples] : record.left_out) left_out += static_cast<double>(samples);
    SetCounter("left_out", left_out, state);
  }
  SetCounter("GFLOP/s", record.Gflops(), state);
  SetCounter("peak_fraction", record.PeakFraction(), state);
  for (const auto& [event, count] : record.events) SetCounter(event, count, state);
}

void SkipRow(const std::string& reason, benchmark::State& state, BenchmarkCases& cases) {
  ++cases.skipped;
  state.SkipWithError(("SKIPPED: " + reason).c_str());
}

void FailRow(const std::string& message, benchmark::State& state, BenchmarkCases& cases) {
  ++cases.failed;
  state.SkipWithError(message.c_str());
}

void AddManualCase(const std::string& name, std::int64_t iterations, benchmark::TimeUnit unit,
                   std::function<void(benchmark::State&)> run, BenchmarkCases& cases) {
  cases.all.push_back({fmt::format("{}/iterations:{}/manual_time", name, iterations),
                       [name, iterations, unit, run = std::move(run)] {
                         benchmark::RegisterBenchmark(name.c_str(), run)
                             ->UseManualTime()
                             ->Iterations(iterations)
                             ->Unit(unit);
                       }});
}

}  // namespace topdnn
