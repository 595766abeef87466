#include "bench/studies/malleable/malleable.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/nearest.h"
#include "bench/studies/malleable/malleable_phases.h"
#include "bench/studies/malleable/malleable_report.h"
#include "bench/studies/malleable/width_requests.h"
#include "bench/studies/process/temporary_folder.h"
#include "bench/validation/step_check.h"
#include "bench/workload/stage_calls.h"
#include "harness/files/atomic_file.h"
#include "harness/report/publish_result.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/width/width_limits.h"
#include "harness/width/width_signals.h"
#include "kernels/kernel/run_failure.h"

namespace topdnn {

namespace {

constexpr std::int64_t kMostChanges = 10000;

int WidthOf(const std::string& word, WidthBounds bounds) {
  const bool digits =
      !word.empty() && word.size() < 6 &&
      std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int width = digits ? std::stoi(word) : 0;
  if (width < bounds.least || width > bounds.most) {
    throw UsageError(
        fmt::format("--widths: '{}': must be {} to {}", OneLine(word), bounds.least, bounds.most));
  }
  return width;
}

// Ascending, at least two.
std::vector<int> WidthsOf(const MalleableOptions& options, WidthBounds bounds) {
  std::vector<int> widths;
  for (const std::string& word : SplitAtCommas(options.widths))
    widths.push_back(WidthOf(word, bounds));
  if (options.widths.empty()) widths = {bounds.least, bounds.most};
  std::sort(widths.begin(), widths.end());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  if (widths.size() > 1) return widths;
  if (options.widths.empty() && !options.most && !options.least) {
    throw NothingMeasured(
        "malleable: this process may use 1 CPU, so no width can change; allow it two or more");
  }
  throw UsageError("malleable: only one width is possible; give two, such as --widths 1,2");
}

std::vector<std::string> SourcesOf(const MalleableOptions& options) {
  const std::vector<std::string> names = RequesterNames();
  std::vector<std::string> sources;
  for (const std::string& word : SplitAtCommas(options.by)) {
    CheckName("source of --by", word, names);
    if (std::find(sources.begin(), sources.end(), word) == sources.end()) sources.push_back(word);
  }
  if (sources.empty()) throw UsageError("--by: name a source: api, signal, socket or quota");
  return sources;
}

MalleableResult Measure(const MalleableOptions& options, const std::vector<std::string>& sources,
                        const PhaseSettings& settings, WidthControl& control, MalleableRun& run) {
  ProgressLine line(options.quiet ? Style{} : DetectStyle(stderr));
  for (const int width : settings.widths) run.Prepare(width);
  MalleableResult result;
  line.Show("comparing results");
  result.result = CompareResults(settings, control, run);
  line.Show("timing fixed widths");
  TimeWidths(settings, control, run, result);
  const int limit = WidthLimit(AffinityOfProcess());
  for (const std::string& source : sources) {
    if (control.stopped()) break;
    if (source == "quota" && limit < settings.widths.back()) {
      result.remarks.push_back(fmt::format(
          "quota was left out: the container allows {} CPUs, fewer than the largest width", limit));
      continue;
    }
    line.Show(fmt::format("changes by {}", source));
    result.sources.push_back(ChangeBy(source, settings, control, run));
  }
  line.Show("timing one CPU");
  if (!control.stopped() && settings.widths.front() == 1) {
    result.oversubscription = TimeOnOneCpu(settings, control, run);
  }
  result.complete = !control.stopped();
  result.lost_work = run.started() - run.completed();
  result.stage_errors =
      run.stage_runs() - run.completed() * static_cast<std::int64_t>(run.plan().stages().size());
  for (std::string& remark : run.Remarks()) result.remarks.push_back(std::move(remark));
  return result;
}

int StatusOf(const MalleableResult& result, const std::string& dtype) {
  const double bound = ResultBound(dtype, result.result.between_widths);
  std::string wrong;
  if (!(result.result.error <= bound)) {
    wrong = fmt::format("the {} differs by {:.2g}, more than rounding", result.result.what,
                        result.result.error);
  }
  if (result.result.from_same_state.value_or(0) > SameStateBound(dtype)) {
    wrong = fmt::format("the loss after one step differs by {:.2g}, more than rounding",
                        *result.result.from_same_state);
  }
  if (result.lost_work != 0) wrong = fmt::format("{} steps were lost", result.lost_work);
  if (result.stage_errors != 0) {
    wrong = fmt::format("{} stages ran too often or not at all", result.stage_errors);
  }
  if (wrong.empty()) return kExitGood;
  fmt::print(stderr, "topdnn: malleable: {}\n", wrong);
  return kExitWrong;
}

}  // namespace

double ResultBound(const std::string& dtype, double between_widths) {
  const double least = dtype == "f32" ? 1e-4 : 1e-3;
  return std::isfinite(between_widths) ? std::max(4 * between_widths, least) : least;
}

double SameStateBound(const std::string& dtype) { return dtype == "f32" ? 1e-2 : 1e-1; }

int RunMalleableStudy(MalleableOptions options) {
  const WidthBounds bounds = BoundsOf(options);
  const std::vector<int> widths = WidthsOf(options, bounds);
  const std::vector<std::string> sources = SourcesOf(options);
  if (options.changes < 1 || options.changes > kMostChanges) {
    throw UsageError(fmt::format("--changes {}: must be 1 to {}", options.changes, kMostChanges));
  }
  CheckOutputs({options.json}, InputFiles(options.workload.network, options.workload.weights));
  options.workload.threads = bounds.most;
  ThreadsOf(options.workload);  // forks, so it precedes the watcher's thread
  BlockWidthSignals();          // (from here an interrupt leaves no folder)
  const TemporaryFolder folder;
  const std::string socket = folder.path() / "control";
  WidthControl control(bounds.least, bounds.most, widths.back());
  const auto watcher = WatchWidth(control, socket, false, folder.path());
  Workload workload = MalleableWorkload(options.workload, options.training(), bounds.most);
  MalleableRun run(options.workload, workload, control);
  run.Feed();
  RequireStep(options.workload, options.training(), *workload.plan);
  const PhaseSettings settings = {.widths = widths,
                                  .changes = options.changes,
                                  .socket_path = socket,
                                  .training = options.training(),
                                  .seed = options.workload.seed};
  const MalleableResult result = Measure(options, sources, settings, control, run);
  ThrowOnRunFailure();
  const double bound = ResultBound(options.workload.dtype, result.result.between_widths);
  const auto json = [&] {
    nlohmann::ordered_json figures = MalleableHead(options, workload, bounds);
    AddMalleableFigures(result, workload.batch, bound, figures);
    return figures;
  };
  PublishResult(options.json, json, [&](const Style& style) -> std::string {
    if (options.quiet) return "";
    return fmt::format("{} {}, batch {}, {} on {}\n\n{}", OneLine(workload.network),
                       options.training() ? "training" : "inference", workload.batch,
                       workload.dtype, workload.backend,
                       MalleableTable(result, workload.batch, bound, style));
  });
  if (control.signal() != 0) return kExitInterrupted;
  return StatusOf(result, options.workload.dtype);
}

}  // namespace topdnn
