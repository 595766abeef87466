#include "bench/profile/meter_energy.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "bench/command_line/command.h"
#include "harness/counters/energy/meter.h"
#include "harness/files/input_file.h"
#include "harness/report/tables/tables.h"

namespace topdnn {

namespace {

// `grows`: the meter may be writing the last line.
std::vector<MeterReading> ReadMeter(const std::string& file, bool grows) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  try {
    std::string text = ReadInputFile(
        file, {.most_bytes = kMostBytes, .smaller = "record for a shorter time"},
        [&file](const std::string& why) { throw MeterError(fmt::format("{}: {}", file, why)); });
    const std::size_t end = text.rfind('\n');
    if (grows && end != std::string::npos) text.resize(end + 1);
    return ParseMeterCsv(text, file);
  } catch (const MeterError& error) {
    throw UsageError(fmt::format("--energy {}", error.what()));
  }
}

}  // namespace

void CheckMeterFile(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(file, ignored)) {
    throw UsageError(fmt::format(
        "--energy {}: is a pipe, which can be read only once; name the file that the meter writes",
        file));
  }
  ReadMeter(file, /*grows=*/false);
}

void AddMeterEnergy(const std::string& file, const MeasuredClock& clock, double patience,
                    Report& report) {
  if (!report.step.seconds) return;
  if (clock.was_set) {
    report.notes.push_back({.text = fmt::format("--energy {}: the time of day was set while the "
                                                "steps were timed: measure again",
                                                file),
                            .main = true});
    return;
  }
  std::vector<MeterReading> readings;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
  try {
    readings = ReadMeter(file, /*grows=*/true);
    while (readings.back().time < clock.to && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      readings = ReadMeter(file, /*grows=*/true);
    }
  } catch (const UsageError& error) {  // the profile is complete without it
    report.notes.push_back({.text = error.what(), .main = true});
    return;
  }
  const double step = report.step.seconds->median;
  const auto watts = MeanWatts(readings, clock.from, clock.to);
  if (!watts) {
    report.notes.push_back(
        {.text =
             fmt::format("--energy {}: its readings from {:.1f} to {:.1f} do not cover the steps, "
                         "timed from {:.1f} to {:.1f} (seconds since 1970): let the meter run "
                         "before and after, or give more --seconds",
                         file, readings.front().time, readings.back().time, clock.from, clock.to),
         .main = true});
    return;
  }
  report.step.events[kMeterEvent] = *watts * step;
  if (const auto idle = MeanWatts(readings, readings.front().time, clock.program)) {
    report.step.events["energy/idle"] = *idle * step;
  }
}

}  // namespace topdnn
