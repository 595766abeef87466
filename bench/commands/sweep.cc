// `topdnn sweep`: profiles every combination of networks, batch sizes, types, ..., each in a
// separate process.

#include "bench/studies/sweep.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/interrupt.h"
#include "bench/command_line/plugin_words.h"
#include "bench/studies/child_program.h"
#include "bench/studies/study.h"
#include "bench/studies/sweep_folder.h"
#include "bench/studies/sweep_table.h"
#include "harness/report/style.h"

namespace topdnn {

namespace {

struct SweepOptions {
  std::map<std::string, std::string> axes;      // as given, by key; empty: not given
  std::map<std::string, std::string> settings;  // by option of `profile`; empty: not given
  std::string study;
  int repeats = 1;
  std::uint64_t seed = 1;
  std::string max_time;
  std::string timeout = "10m";
  std::string out;
  std::string program;
  bool resume = false;
  bool quiet = false;
};

// Options of `profile` that are the same for all cases.
struct SharedOption {
  const char* option;
  const char* value;  // for the help
  const char* usual;  // empty: the profile's own
  const char* help;
};

constexpr SharedOption kSharedOptions[] = {
    {"--seconds", "S", "5", "seconds of timed steps in each case"},
    {"--iterations", "N", "", "timed steps in each case"},
    {"--counters", "auto|perf|exact|clock|none", "clock", "what counts in each case"},
    {"--data", "DIR", "", "folder with CIFAR-10 or (Fashion-)MNIST files, or `synthetic`"},
    {"--augment", "NAME,...", "", "changes of the training images"},
    {"--loaders", "N", "", "loader threads of the input pipeline"},
    {"--source-rate", "N", "", "images per second that the data source gives at most"},
};

bool GivesCases(const SweepOptions& options) {
  for (const auto& [key, values] : options.axes) {
    if (!values.empty()) return true;
  }
  return !options.study.empty();
}

SweepPlan PlanOf(const SweepOptions& options) {
  if (options.repeats < 1) {
    throw UsageError(fmt::format("--repeats {}: must be 1 or more", options.repeats));
  }
  SweepPlan plan{.values = {}, .settings = {}, .repeats = options.repeats, .seed = options.seed};
  std::map<std::string, std::string> settings;
  for (const SharedOption& shared : kSharedOptions) settings[shared.option] = shared.usual;
  if (!options.study.empty()) {
    const Study& study = FindStudy(options.study);
    plan.values = study.values;
    for (const auto& [option, value] : study.settings) settings[option] = value;
  }
  for (const SweepAxis& axis : SweepAxes()) {
    const std::string& given = options.axes.at(axis.key);
    if (!given.empty()) plan.values[axis.key] = ParseAxis(axis, given);
  }
  for (const SharedOption& shared : kSharedOptions) {
    const std::string& given = options.settings.at(shared.option);
    const std::string& value = given.empty() ? settings[shared.option] : given;
    if (!value.empty()) plan.settings.emplace_back(shared.option, value);
  }
  return plan;
}

std::string Remaining(const std::optional<double>& seconds) {
  if (!seconds) return "";
  return *seconds < 90 ? fmt::format(", about {:.0f} s left", *seconds)
                       : fmt::format(", about {:.0f} min left", *seconds / 60);
}

// A line on a terminal, or a line for each finished case elsewhere.
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

int StatusOf(const nlohmann::ordered_json& index) {
  bool measured = false;
  bool wrong = false;
  for (const auto& row : index.at("cases")) {
    const std::string status = row.value("status", "");
    const bool good = status == "OK" || status == "DEGRADED";
    measured = measured || good;
    wrong = wrong || (!good && status != "SKIPPED");
  }
  if (Interrupted()) return kExitInterrupted;
  return wrong ? kExitWrong : measured ? kExitGood : kExitNothing;
}

int RunSweepCommand(const SweepOptions& options) {
  if (options.out.empty()) throw UsageError("--out DIR: give the folder for the sweep's files");
  SweepLimits limits;
  if (!options.max_time.empty())
    limits.most_seconds = ParseDuration("--max-time", options.max_time);
  limits.most_seconds_of_case = ParseDuration("--timeout", options.timeout);
  SweepPlan plan = PlanOf(options);
  const SweepFolder folder(options.out, options.resume);
  if (!GivesCases(options) && !folder.before().is_null()) {
    plan = topdnn::PlanOf(folder.before(), options.out);
  }
  limits.cancel = &InterruptFlag();
  Progress progress(options.quiet);
  const std::string program = options.program.empty() ? OwnProgram() : options.program;
  const nlohmann::ordered_json index =
      RunSweep(plan, limits, program, folder, [&](const SweepProgress& now) { progress(now); });
  progress.Erase();
  fmt::print("{}", SweepTable(index, DetectStyle(stdout)));
  return StatusOf(index);
}

std::function<int()> Configure(CommandParser& parser) {
  auto options = std::make_shared<SweepOptions>();
  for (const SweepAxis& axis : SweepAxes()) {
    parser.Add(
        axis.option + " " + axis.values, options->axes[axis.key],
        axis.usual.empty() ? axis.help : fmt::format("{} (default: {})", axis.help, axis.usual));
  }
  parser.Add(fmt::format("--study {}", fmt::join(StudyNames(), "|")), options->study,
             "a prepared sweep; other options change it");
  for (const SharedOption& shared : kSharedOptions) {
    parser.Add(fmt::format("{} {}", shared.option, shared.value), options->settings[shared.option],
               *shared.usual == 0 ? shared.help
                                  : fmt::format("{} (default: {})", shared.help, shared.usual));
  }
  AddPluginOption(parser);
  parser.Add("--repeats", options->repeats, "runs of each case, in separate rounds");
  parser.Add("--seed", options->seed, "seed of the order of the cases");
  parser.Add("--max-time TIME", options->max_time,
             "length of the whole sweep, like 15m: cases that do not fit are left out");
  parser.Add("--timeout TIME", options->timeout, "a case that takes longer is ended");
  parser.Add("--out DIR", options->out, "the folder for the sweep's files");
  parser.AddFlag("--resume", options->resume,
                 "continue the sweep in this folder; without axes, the same sweep");
  parser.Add("--program FILE", options->program, "another build of topdnn that runs the cases");
  parser.AddFlag("--quiet", options->quiet, "no progress");
  return [options] { return RunSweepCommand(*options); };
}

const CommandRegistration kSweep(
    {"sweep", "profiles every combination of networks, batch sizes, types, threads, ...", Configure,
     "topdnn sweep --networks cnn --batch 32,128 --dtype f32,bf16 --out sweep"});

}  // namespace

}  // namespace topdnn
