#include "bench/studies/malleable/malleable_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/command_line/command.h"
#include "harness/files/atomic_file.h"
#include "harness/report/json.h"
#include "harness/report/publish_result.h"
#include "harness/statistics/summary.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/text/text.h"
#include "kernels/kernel/run_failure.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr std::int64_t kMostTimes = 1 << 20;  // steps whose times are kept: the first ones

struct JobTimes {
  std::vector<double> steps;
  std::map<int, std::vector<double>> by_width;  // steps without a change
  double seconds = 0;                           // of the whole loop
  std::optional<double> first_loss, loss;
};

// The width of the first step. Throws UsageError for a --width or --steps that is not valid.
int StartWidth(const MalleableOptions& options, WidthBounds bounds) {
  const int start = options.width.value_or(bounds.most);
  if (start < bounds.least || start > bounds.most) {
    throw UsageError(fmt::format("--width {}: must be {} to {}", start, bounds.least, bounds.most));
  }
  if (*options.steps < 1 || *options.steps > kMostSteps) {
    throw UsageError(fmt::format("--steps {}: must be 1 to {}", *options.steps, kMostSteps));
  }
  return start;
}

JobTimes RunSteps(std::int64_t steps, const WidthControl& control, MalleableRun& run) {
  JobTimes times;
  times.steps.reserve(static_cast<std::size_t>(std::min(steps, kMostTimes)));
  const Clock::time_point begin = Clock::now();
  for (std::int64_t i = 0; i < steps && !control.stopped(); ++i) {
    const MalleableStep step = run.Step();
    if (i == 0) times.first_loss = run.Loss();
    if (i >= kMostTimes) continue;
    times.steps.push_back(step.seconds);
    if (step.changes == 0) times.by_width[step.width].push_back(step.seconds);
  }
  times.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (run.completed() > 0) times.loss = run.Loss();
  return times;
}

Json JobJson(const MalleableOptions& options, const Workload& workload, WidthBounds bounds,
             const MalleableRun& run, const JobTimes& times) {
  Json json = MalleableHead(options, workload, bounds);
  const auto images = static_cast<double>(workload.batch * run.completed());
  json["steps"] = *options.steps;
  json["iterations"] = run.completed();
  json["complete"] = run.completed() == *options.steps;
  json["seconds"] = JsonNumber(times.seconds);
  json["images_per_second"] =
      run.completed() > 0 ? JsonNumber(images / times.seconds) : Json(nullptr);
  json["step"] = {{"seconds", SecondsJson(SummaryIfAny(times.steps))}};
  json["first_loss"] = JsonNumber(times.first_loss);
  json["loss"] = JsonNumber(times.loss);
  json["changes"] = run.change_count();
  json["latency"] = nullptr;
  json["cost"] = nullptr;
  json["fixed"] = Json::array();
  for (const auto& [width, seconds] : times.by_width) {
    const Summary summary = Summarize(seconds);
    json["fixed"].push_back(
        {{"threads", width},
         {"images_per_second", JsonNumber(static_cast<double>(workload.batch) / summary.median)},
         {"seconds", SecondsJson(summary)}});
  }
  json["loss_error"] = nullptr;
  json["lost_work"] = run.started() - run.completed();
  json["remarks"] = run.Remarks();
  return json;
}

std::string JobText(const MalleableOptions& options, const Workload& workload,
                    const MalleableRun& run, const JobTimes& times, const Style& style) {
  if (options.quiet) return "";
  std::string text =
      fmt::format("{} {}, batch {}: {} of {} steps in {}, {} of width\n", OneLine(workload.network),
                  options.training() ? "training" : "inference", workload.batch, run.completed(),
                  *options.steps, TimeText(times.seconds, style.unicode),
                  CountText(run.change_count(), "change"));
  for (const auto& [width, seconds] : times.by_width) {
    text += fmt::format("width {}: {} steps, median {}\n", width, seconds.size(),
                        TimeText(Median(seconds), style.unicode));
  }
  for (const std::string& remark : run.Remarks()) text += OneLine(remark) + "\n";
  return text;
}

}  // namespace

int RunMalleableJob(MalleableOptions options) {
  const WidthBounds bounds = BoundsOf(options);
  const int start = StartWidth(options, bounds);
  options.workload.threads = bounds.most;
  CheckOutputs({options.json}, InputFiles(options.workload.network, options.workload.weights));
  ThreadsOf(options.workload);  // forks, so it precedes the watcher's thread
  WidthControl control(bounds.least, bounds.most, start);
  const auto watcher = WatchWidth(control, options.control, true);
  Workload workload = MalleableWorkload(options.workload, options.training(), bounds.most);
  MalleableRun run(options.workload, workload, control);
  const JobTimes times = RunSteps(*options.steps, control, run);
  ThrowOnRunFailure();
  PublishResult(
      options.json, [&] { return JobJson(options, workload, bounds, run, times); },
      [&](const Style& style) { return JobText(options, workload, run, times, style); });
  if (control.signal() != 0) return kExitInterrupted;
  if (times.loss && !std::isfinite(*times.loss)) {
    fmt::print(stderr, "topdnn: malleable: the loss is {}: take a smaller --learning-rate\n",
               *times.loss);
    return kExitWrong;
  }
  return kExitGood;
}

}  // namespace topdnn
