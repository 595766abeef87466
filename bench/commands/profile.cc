// `topdnn profile NET`: where a step's time goes, stage by stage.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/choice/networks/network_choice.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/interrupt.h"
#include "bench/command_line/kernel_trials.h"
#include "bench/profile/exact_counts.h"
#include "bench/profile/experiments.h"
#include "bench/profile/measured_profile.h"
#include "bench/profile/profile_options.h"
#include "bench/profile/profile_report.h"
#include "harness/files/atomic_file.h"
#include "harness/report/registry.h"
#include "harness/report/stage_table.h"
#include "harness/text/style.h"

namespace topdnn {

namespace {

constexpr std::int64_t kHotLoops = 2;  // of --hot without a number

// Counts without timing, and writes the baseline.
int RunCounts(const ProfileOptions& options, ProgressLine& progress) {
  const nlohmann::ordered_json counts = CountProfile(options, progress);
  progress.Erase();
  WriteFileAtomically(options.exact_baseline, ExactBaselineText(counts));
  std::FILE* const stream = options.exact_baseline == kStandardOutput ? stderr : stdout;
  fmt::print(stream, "{}", ExactSummary(counts));
  return kExitGood;
}

// Refuses options that have no effect beside others.
void CheckGiven(const CommandParser& parser, const ProfileOptions& options) {
  CheckTrainingOptions(parser, options.workload, options.training());
  if (!options.exact_baseline.empty()) {
    parser.Refuse(
        {"--iterations", "--seconds", "--wait-quiet", "--regime", "--no-isolated", "--metrics",
         "--energy", "--scale-counts", "--prefetch", "--loaders", "--augment", "--placement",
         "--source-rate", "--explain", "--sort", "--top", "--columns", "--context-gap", "--series"},
        "with --exact-baseline, which only counts");
  }
  if (options.no_isolated && options.regime == "in-network") {
    parser.Refuse({"--context-gap"}, "with --no-isolated");
  }
  const std::string& counters = options.counters;
  if (counters == "exact" || counters == "clock" || counters == "none") {
    parser.Refuse({"--scale-counts"}, "with --counters " + counters);
  }
}

int RunProfile(const ProfileOptions& options) {
  CheckOptions(options);
  InterruptFlag();
  Style progress_style = DetectStyle(stderr);
  progress_style.terminal = progress_style.terminal && !options.console.quiet;
  ProgressLine progress(progress_style);
  if (!options.exact_baseline.empty()) return RunCounts(options, progress);
  const RestartAtSuddenEnd restart;
  const std::string replayed = ReplayedFile(options.counters);
  MeasuredProfile measured = replayed.empty() ? MeasureProfile(options, ChooseInNetwork, progress)
                                              : ReplayProfile(options, replayed);
  if (options.scale_counts) ScaleAllCounts(measured.profile);
  const Report report = MakeReport(options, measured);
  progress.Erase();
  WriteReport(options, measured, report);
  if (Interrupted()) return kExitInterrupted;
  if (report.stages.empty()) return kExitNothing;
  const Status status = report.step.status;
  return status == Status::kFailed || status == Status::kInvalid ? kExitWrong : kExitGood;
}

// The file formats with an option of their own. `--export FORMAT=FILE` writes the others.
bool HasOption(const FileReport& file) {
  return file.name == "json" || file.name == "csv" || file.name == "html" ||
         file.name == "timeline";
}

std::string ExportsHelp() {
  std::vector<std::string> formats;
  for (const FileReport& file : FileReports()) {
    if (!HasOption(file)) formats.push_back(fmt::format("{}: {}", file.name, file.help));
  }
  return fmt::format("write a file for another tool; repeat it for several. {}",
                     fmt::join(formats, "; "));
}

// The options for the printed output and for the files.
void AddReportOptions(CommandParser& parser, ProfileOptions& options) {
  parser.Section("Output");
  parser.AddFlag("--explain", options.console.explain,
                 "print every note, including the explanations of the counts");
  parser.AddFlag("--quiet", options.console.quiet,
                 "print the verdict, the costliest stages and the step; no table, notes or "
                 "progress");
  parser.Add(fmt::format("--sort {}", fmt::join(StageSortNames(), "|")),
             options.console.stages.sort,
             "order of the stages, largest first (default: as they run)");
  parser.Add("--top", options.top,
             "print this many stages, and one row for all others; the costliest without --sort");
  parser.Add("--columns NAME,...", options.columns,
             fmt::format("columns of the table: {}", fmt::join(StageColumnNames(), " ")));
  for (const TableReport& table : TableReports()) {
    if (table.shown != TableReport::Shown::kOnRequest) continue;
    parser.AddFlag("--" + table.name, options.tables[table.name], table.help);
  }
  parser.Add("--exact-baseline FILE", options.exact_baseline,
             "count what each stage executes, and write it to this file for compare --exact; "
             "nothing is timed; - is standard output");
  parser.Add("--record FILE", options.record,
             "write the raw samples to this file, for replay; - is standard output");
  for (const FileReport& file : FileReports()) {
    std::string& path = options.files[file.name];
    if (HasOption(file)) {
      parser.Add("--" + file.name + " FILE", path, file.help + "; - is standard output");
    }
  }
  parser.AddRepeated("--export FORMAT=FILE", options.exports, ExportsHelp());
}

std::function<int()> ConfigureProfile(CommandParser& parser) {
  auto options = std::make_shared<ProfileOptions>();
  parser.Section("Network");
  AddWorkloadOptions(parser, options->workload);
  options->workload.reports_failures = true;
  parser.Section("Input");
  AddInputOptions(parser, options->input);
  parser.Section("Timing");
  parser.AddFlag("--train", options->train, "a training step: forward, backward, update (default)");
  parser.AddFlag("--infer", options->infer, "an inference step: forward only");
  parser.Add("--iterations", options->iterations,
             "timed steps (default: as many as fit in --seconds)");
  constexpr Range kSeconds{0, 1e6};
  parser.Add("--seconds", options->seconds, "seconds of timed steps (without --iterations)",
             kSeconds);
  parser.Add("--wait-quiet TIME", options->wait_quiet,
             "wait so long, like 5m, until other programs use less than 5 % of the CPUs");
  parser.Add(fmt::format("--regime {}", fmt::join(RegimeNames(), "|")), options->regime,
             "where the stages are timed: in the network, or by themselves with hot or cold "
             "caches");
  parser.AddFlag("--no-isolated", options->no_isolated,
                 "do not also time each stage by itself, nor the cost of the marks");
  parser.Section("Counting");
  parser.Add("--counters auto|perf|exact|clock|none|replay:FILE", options->counters,
             "what counts; replay: the samples of an earlier --record");
  parser.Add("--metrics", options->metrics,
             "what perf counts: topdown-l1 to topdown-l4, flops, memory, EVENT, ...");
  parser.Add(
      "--energy CSV", options->energy,
      "readings of an external power meter (seconds since 1970, watts), for the step's energy");
  parser.AddFlag("--scale-counts", options->scale_counts,
                 "scale up the counts of events that shared a counter and ran for part of the "
                 "time");
  parser.Section("Experiments");
  parser.AddRepeated(fmt::format("--experiment {}", fmt::join(ExperimentNames(), "|")),
                     options->experiments, ExperimentsHelp());
  parser.AddFlag("--no-experiments", options->no_experiments,
                 "leave out the experiments that run by default, and with them the Top-Down tree");
  constexpr Range kLoops{1, 100};
  parser.AddOptionalNumber("--hot", kHotLoops, options->hot,
                           "list the instructions of this many loops of each stage, with what "
                           "binds them",
                           kLoops);
  AddReportOptions(parser, *options);
  parser.ShowFirst({"--train", "--infer", "--backend", "--dtype", "--batch", "--threads",
                    "--seconds", "--experiment", "--json", "--html"});
  return [options, &parser] {
    CheckGiven(parser, *options);
    TakeExports(*options);
    return RunProfile(*options);
  };
}

const CommandRegistration kProfile({"profile", Question::kMeasure,
                                    "where a network's step spends its time, stage by stage",
                                    ConfigureProfile,
                                    "topdnn profile cnn --train --batch 64 --json out.json"});

}  // namespace

}  // namespace topdnn
