// `topdnn sweep`: profiles every combination of networks, batch sizes, types, ..., each in a
// separate process.

#include "bench/studies/sweep/sweep.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/interrupt.h"
#include "bench/studies/process/child_program.h"
#include "bench/studies/sweep/sweep_folder.h"
#include "bench/studies/sweep/sweep_options.h"
#include "bench/studies/sweep/sweep_table.h"
#include "harness/text/style.h"

namespace topdnn {

namespace {

struct SweepCommand {
  SweepOptions cases;
  std::string max_time;
  std::string timeout = "10m";
  std::string wait;
  std::string out;
  std::string program;
  bool resume = false;
  bool quiet = false;
};

std::string Remaining(const std::optional<double>& seconds) {
  if (!seconds) return "";
  return *seconds < 90 ? fmt::format(", about {:.0f} s left", *seconds)
                       : fmt::format(", about {:.0f} min left", *seconds / 60);
}

// A line for each finished case. A terminal also shows the case that runs.
class Progress {
 public:
  explicit Progress(bool quiet) : quiet_(quiet), style_(DetectStyle(stderr)), line_(style_) {}

  void operator()(const SweepProgress& now) {
    if (quiet_) return;
    if (now.row == nullptr) {
      line_.Show(fmt::format("case {} of {}: {}{}", now.done + 1, now.all, now.id,
                             Remaining(now.remaining_seconds)));
      return;
    }
    line_.Erase();
    fmt::print(stderr, "{:>3} of {}  {}: {}\n", now.done, now.all, now.id, SweepRowText(*now.row));
  }
  void Erase() { line_.Erase(); }

 private:
  bool quiet_;
  Style style_;
  ProgressLine line_;
};

int RunSweepCommand(const SweepCommand& options) {
  if (options.out.empty()) throw UsageError("--out DIR: give the folder for the sweep's files");
  SweepLimits limits;
  if (!options.max_time.empty())
    limits.most_seconds = ParseDuration("--max-time", options.max_time);
  limits.most_seconds_of_case = ParseDuration("--timeout", options.timeout);
  limits.cancel = &InterruptFlag();
  SweepPlan plan = PlanOf(options.cases);
  const double wait = options.wait.empty() ? 0 : ParseDuration("--wait", options.wait);
  const SweepFolder folder(options.out, options.resume, wait);
  if (!options.cases.GivesCases() && !folder.before().is_null()) {
    if (const std::string option = options.cases.FirstSetting(); !option.empty()) {
      throw UsageError(
          fmt::format("{}: --resume without axes continues the sweep as it is: give its axes, too, "
                      "or leave out {}",
                      option, option));
    }
    plan = PlanOf(folder.before(), options.out);
    // The index does not name the plug-ins: without theirs, its cases would be skipped for good.
    for (const SweepAxis& axis : SweepAxes()) {
      const auto values = plan.values.find(axis.key);
      if (axis.choices.empty() || values == plan.values.end()) continue;
      for (const std::string& value : values->second) {
        CheckName("value for " + axis.option, value, axis.choices);
      }
    }
  }
  Progress progress(options.quiet);
  const std::string program = options.program.empty() ? OwnProgram() : options.program;
  const nlohmann::ordered_json index =
      RunSweep(plan, limits, program, folder, [&](const SweepProgress& now) { progress(now); });
  progress.Erase();
  fmt::print("{}", SweepTable(index, DetectStyle(stdout)));
  return ExitStatusOf({&index});
}

std::function<int()> ConfigureSweep(CommandParser& parser) {
  auto options = std::make_shared<SweepCommand>();
  AddSweepOptions(parser, options->cases);
  parser.Add("--max-time TIME", options->max_time,
             "length of the whole sweep, like 15m: cases that do not fit are left out");
  parser.Add("--timeout TIME", options->timeout, "a case that takes longer is ended");
  parser.Add("--wait TIME", options->wait,
             "wait so long if another sweep writes to the folder (default: not)");
  parser.Add("--out DIR", options->out, "the folder for the sweep's files");
  parser.AddFlag("--resume", options->resume,
                 "continue the sweep in this folder; without axes, the same sweep");
  parser.Add("--program FILE", options->program, "another build of topdnn that runs the cases");
  parser.AddFlag("--quiet", options->quiet, "no progress");
  return [options] { return RunSweepCommand(*options); };
}

const CommandRegistration kSweep(
    {"sweep", Question::kCompare,
     "profiles every combination of networks, batch sizes, types, threads, ...", ConfigureSweep,
     "topdnn sweep --networks cnn --batch 32,128 --dtype f32,bf16 --out sweep"});

}  // namespace

}  // namespace topdnn
