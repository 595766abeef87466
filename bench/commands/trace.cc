// `topdnn trace LOG|-`, `topdnn trace --run -- COMMAND...` and `topdnn trace --live -- COMMAND...`:
// what a framework really ran, read from oneDNN's log or from its process, and measured here.

#include "bench/log/read/trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/interrupt.h"
#include "bench/command_line/plugin_words.h"
#include "bench/live/live_events.h"
#include "bench/live/live_program.h"
#include "bench/live/live_report.h"
#include "bench/log/read/traced_command.h"
#include "bench/replay/measured_trace.h"
#include "bench/replay/trace_problem_set.h"
#include "bench/replay/trace_report.h"
#include "bench/studies/results/result_file.h"
#include "bench/studies/results/result_page.h"
#include "bench/workload/sources.h"
#include "bench/workload/workload.h"
#include "harness/files/atomic_file.h"
#include "harness/files/input_file.h"
#include "harness/report/html/page.h"
#include "harness/report/json.h"
#include "harness/text/errors.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

struct TraceOptions {
  std::vector<std::string> words;  // the log, or the command
  bool run = false;
  bool live = false;
  bool no_replay = false;
  int step = 0;
  bool series = false;
  LiveNames names;
  bool read_only = false;
  bool repro = false;
  bool all = false;
  bool ceilings = false;
  bool exact = false;
  std::string counters = "none";
  std::string metrics;
  int threads = 0;
  double seconds = TraceMeasuring().seconds;
  int rows = TraceMeasuring().rows;
  int alternatives = TraceMeasuring().alternatives;
  std::string json;
  std::string html;
  std::string save;
};

bool ResultOnStandardOutput(const TraceOptions& options) {
  return options.json == kStandardOutput || options.html == kStandardOutput ||
         options.save == kStandardOutput;
}

// The standard output of the traced program: a result on ours stands there alone.
int OutputOf(const TraceOptions& options) {
  return ResultOnStandardOutput(options) ? STDERR_FILENO : STDOUT_FILENO;
}

constexpr std::string_view kStandardInput = "/dev/stdin";

std::string LogPath(const TraceOptions& options) {
  if (options.words.size() != 1) {
    throw UsageError(options.words.empty()
                         ? "trace: give a log of oneDNN, - for standard input, or --run -- COMMAND"
                         : "trace: give one log; --run -- COMMAND and --live -- COMMAND run a "
                           "command");
  }
  return options.words.front() == "-" ? std::string(kStandardInput) : options.words.front();
}

Trace ReadLog(const TraceOptions& options) {
  const std::string path = LogPath(options);
  TraceReader reader;
  ReadInputPieces(
      path,
      [&](const std::string& why) {
        throw UsageError(fmt::format("{}: {}", options.words.front(), why));
      },
      [&](std::string_view piece) { reader.Add(piece); });
  Trace trace = reader.Finish();
  if (trace.Primitives() > 0) return trace;
  const char* const name = options.words.front() == "-" ? "standard input" : path.c_str();
  if (trace.lines == 0) {
    throw UsageError(
        fmt::format("{}: is empty; give the output of a program that ran with "
                    "ONEDNN_VERBOSE=1",
                    name));
  }
  throw UsageError(fmt::format(
      "{}: none of its {} is an execution of a oneDNN primitive ({}); set ONEDNN_VERBOSE=1", name,
      CountText(trace.lines, "line"),
      trace.dialect.empty()     ? "oneDNN printed nothing"
      : trace.damaged_lines > 0 ? fmt::format("{} are truncated or damaged", trace.damaged_lines)
                                : "it has other lines of oneDNN"));
}

Trace RunCommand(const TraceOptions& options, int& status) {
  if (options.words.empty())
    throw UsageError("--run: give a command: topdnn trace --run -- COMMAND");
  TracedCommand traced = RunTraced(options.words, OutputOf(options));
  if (!traced.end.empty()) {
    fmt::print(stderr, "topdnn: {} {}\n", OneLine(options.words.front()), traced.end);
    status = kExitWrong;
  }
  if (traced.trace.Primitives() == 0) {
    if (Interrupted()) throw Interruption();
    const std::string line = fmt::format(
        "{}: oneDNN printed no execution of a primitive; the program does not use oneDNN, or its "
        "oneDNN was built without the log",
        options.words.front());
    if (status == kExitGood) throw NothingMeasured(line);
    throw RunFailure(line);
  }
  return std::move(traced.trace);
}

// As many threads as the framework, if they may be used here.
int ThreadsFor(const TraceOptions& options, const Trace& trace) {
  WorkloadOptions workload;
  workload.threads = options.threads;
  if (options.threads != 0) return ThreadsOf(workload);
  const int most = ThreadsOf(workload);
  if (!trace.threads || *trace.threads >= most) return most;
  workload.threads = *trace.threads;
  return ThreadsOf(workload);
}

// What counts the rows. Opened before a command is run, because `perf` without a PMU is an error.
OpenedSources OpenRowSources(const TraceOptions& options) {
  if (options.exact && options.counters != "none" && options.counters != "exact") {
    throw UsageError(fmt::format("--exact is --counters exact: give it, or --counters {}, not both",
                                 options.counters));
  }
  const std::string counters = options.exact ? "exact" : options.counters;
  OpenedSources opened = OpenSources(counters, options.metrics);
  if (counters == "perf" && !opened.without_pmu.empty()) {
    throw NothingMeasured(
        fmt::format("--counters perf: nothing can be counted: {}", opened.without_pmu));
  }
  return opened;
}

void Measure(const TraceOptions& options, const OpenedSources& opened, MeasuredTrace& measured) {
  for (const std::string& note : opened.notes) measured.notes.push_back("counters: " + note);
  ProgressLine progress(DetectStyle(stderr));
  TraceMeasuring measuring;
  measuring.threads = ThreadsFor(options, measured.trace);
  measuring.seconds = options.seconds;
  measuring.rows = options.rows;
  measuring.alternatives = options.alternatives;
  measuring.ceilings = options.ceilings;
  measuring.counting = RowCounting::Here(opened.Pointers());
  measuring.progress = [&](const std::string& what, double share) {
    progress.Show(fmt::format("{:.0f} %: {}", 100 * share, what));
  };
  MeasureRows(measuring, measured);
}

// The program with its live measurement.
LiveProgram RunLiveCommand(const TraceOptions& options, const std::vector<LiveEvent>& events) {
  if (options.words.empty()) {
    throw UsageError("--live: give a command: topdnn trace --live -- COMMAND");
  }
  ProgressLine progress(DetectStyle(stderr));
  const auto show = [&](const LiveFold& fold) { progress.Show(LiveProgressText(fold)); };
  LiveProgram program = RunLive(options.words, events, options.names, show, OutputOf(options));
  progress.Erase();
  if (!program.end.empty()) {
    fmt::print(stderr, "topdnn: {} {}\n", OneLine(options.words.front()), program.end);
  }
  return program;
}

// The step whose rows are shown; 0: all rows, also if the program had fewer steps.
std::size_t StepOf(const TraceOptions& options, const LiveTrace& live) {
  const auto step = static_cast<std::size_t>(options.step);
  if (step <= live.steps.size()) return step;
  fmt::print(stderr, "topdnn: --step {}: the program has {}: the rows of all are shown\n",
             options.step, CountText(std::ssize(live.steps), "step"));
  return 0;
}

// Refuses the options of a measurement where nothing is measured.
void CheckMeasuringOptions(const CommandParser& parser, const TraceOptions& options) {
  const bool by_perf = options.counters == "perf" || options.counters == "auto";
  const char* const unmeasured = options.read_only   ? "with --read-only"
                                 : options.repro     ? "with --repro"
                                 : options.no_replay ? "with --no-replay"
                                                     : nullptr;
  if (unmeasured == nullptr) return;
  parser.Refuse({"--threads", "--seconds", "--rows", "--alternatives", "--ceilings", "--exact"},
                unmeasured);
  // (counters count the live program all the same)
  if (!options.live || !by_perf) parser.Refuse({"--counters", "--metrics"}, unmeasured);
}

void CheckLiveOptions(const TraceOptions& options) {
  if (options.live && options.run) throw UsageError("--run and --live: give one of them");
  if (!options.live && (options.no_replay || options.step != 0 || options.series ||
                        options.names.modules || options.names.operators)) {
    throw UsageError("--no-replay, --step, --series, --modules and --operators are for --live");
  }
}

// Before the tables: their reader may end early (`head`).
Outputs WriteOutputs(const TraceOptions& options, const MeasuredTrace& measured,
                     const LiveReport* live) {
  Outputs outputs;
  outputs.Write(options.save, [&] { WriteFileAtomically(options.save, ProblemSetText(measured)); });
  ResultFile result = {.path = {}, .kind = ResultKind::kTrace, .json = {}};
  if (!options.json.empty() || !options.html.empty()) {
    result.json = TraceJson(measured);
    if (live != nullptr) AddLiveJson(*live, measured, result.json);
  }
  outputs.Write(options.json, [&] { WriteFileAtomically(options.json, JsonText(result.json)); });
  outputs.Write(options.html,
                [&] { WriteFileAtomically(options.html, HtmlPage({*PageDataOf(result)})); });
  return outputs;
}

// Standard output is the program's: the table goes to standard error.
int RunLiveTrace(const TraceOptions& options) {
  CheckOutputs({options.json, options.html, options.save}, {});
  InterruptFlag();
  const bool measures = !options.no_replay && !options.read_only && !options.repro;
  OpenedSources opened;
  const bool by_perf = options.counters == "perf" || options.counters == "auto";
  // (without a measurement here, only the words of --counters and --metrics are checked)
  if (measures || by_perf) opened = OpenRowSources(options);
  const LiveEvents events = by_perf ? LiveEventsOf(options.metrics) : LiveEvents();
  const LiveProgram program = RunLiveCommand(options, events.events);
  if (program.live.trace.Primitives() == 0 && program.live.operators.empty()) {
    const std::string line = fmt::format(
        "{}: no primitive of oneDNN was seen; the program does not use oneDNN, or its oneDNN has "
        "neither ITT tasks nor the log",
        options.words.front());
    if (Interrupted()) throw Interruption();
    if (program.status == kExitGood) throw NothingMeasured(line);
    fmt::print(stderr, "topdnn: {}\n", OneLine(line));
    return program.status;
  }
  LiveReport report{.program = &program,
                    .events = events,
                    .step = StepOf(options, program.live),
                    .all = options.all,
                    .series = options.series,
                    .names = options.names};
  MeasuredTrace measured = TranslateTrace(
      report.step == 0 ? program.live.trace : OfStep(program.live, report.step - 1).trace);
  const Style style = DetectStyle(stderr);
  const bool replays = measures && !measured.rows.empty() && !Interrupted();
  Outputs outputs;
  // (standard output takes a result once, so that it waits for the replay)
  if (!replays || !ResultOnStandardOutput(options)) {
    outputs = WriteOutputs(options, measured, &report);
  }
  if (options.repro) {
    fmt::print(stderr, "{}", BenchdnnText(measured));
  } else {
    fmt::print(stderr, "{}", LiveText(report, measured, style));
  }
  if (replays) {
    Measure(options, opened, measured);
    outputs = WriteOutputs(options, measured, &report);
    fmt::print(stderr, "\n{}", TraceText(measured, options.all, style));
  }
  outputs.Finish();
  if (Interrupted()) return kExitInterrupted;
  if (program.status != kExitGood) return program.status;
  if (measured.AnyFailed()) return kExitWrong;
  return !replays || measured.AnyMeasured() ? kExitGood : kExitNothing;
}

int RunTrace(const CommandParser& parser, const TraceOptions& options) {
  CheckLiveOptions(options);
  CheckMeasuringOptions(parser, options);
  if (options.live) return RunLiveTrace(options);
  std::vector<std::string> inputs;
  if (!options.run) inputs.push_back(LogPath(options));
  CheckOutputs({options.json, options.html, options.save}, inputs);
  InterruptFlag();
  int status = kExitGood;
  const bool measures = !options.read_only && !options.repro;
  OpenedSources opened;
  if (measures) opened = OpenRowSources(options);
  MeasuredTrace measured =
      TranslateTrace(options.run ? RunCommand(options, status) : ReadLog(options));
  if (measures) Measure(options, opened, measured);
  const Outputs outputs = WriteOutputs(options, measured, nullptr);
  std::FILE* const stream = ResultOnStandardOutput(options) ? stderr : stdout;
  fmt::print(stream, "{}",
             options.repro ? BenchdnnText(measured)
                           : TraceText(measured, options.all, DetectStyle(stream)));
  outputs.Finish();
  if (Interrupted()) return kExitInterrupted;
  if (measured.AnyFailed()) return kExitWrong;
  if (status != kExitGood || options.read_only || options.repro) return status;
  return measured.AnyMeasured() ? kExitGood : kExitNothing;
}

std::function<int()> ConfigureTrace(CommandParser& parser) {
  auto options = std::make_shared<TraceOptions>();
  parser.AddList("LOG", options->words, "LOG|COMMAND...",
                 "the output of a program that ran with ONEDNN_VERBOSE=1, - for standard input; "
                 "after --run -- or --live --, the program and its arguments");
  AddPluginOption(parser);
  parser.AddFlag("--run", options->run,
                 "run the command with ONEDNN_VERBOSE=1, pass its output on, and read its log");
  parser.AddFlag("--live", options->live,
                 "run the command unchanged, and measure each primitive in its process, with "
                 "counters; the table goes to standard error");
  parser.AddFlag("--no-replay", options->no_replay,
                 "--live: print what was measured in the program, and measure nothing here");
  parser.Add("--step", options->step, "--live: the rows of this step alone, from 1", Range{1, 1e9});
  parser.AddFlag("--series", options->series, "--live: print the steps one by one");
  parser.AddFlag("--modules", options->names.modules,
                 "--live: a row for each module of PyTorch, which is named");
  parser.AddFlag("--operators", options->names.operators,
                 "--live: the time of each operator of PyTorch, and a row for each of them");
  parser.AddFlag("--read-only", options->read_only, "print what the log says, and measure nothing");
  parser.AddFlag("--repro", options->repro,
                 "print each row as a line for benchdnn, oneDNN's benchmark program, and measure "
                 "nothing");
  parser.AddFlag("--all", options->all, "print all rows, not only the costliest");
  parser.Add("--threads", options->threads,
             "OpenMP threads of the kernels (default: those of the log, if allowed here)");
  parser.Add("--seconds", options->seconds, "seconds of timed runs for each row and regime",
             Range{1e-4, 1e4});
  parser.Add("--rows", options->rows, "how many of the costliest rows are measured", Range{1, 1e6});
  parser.Add("--alternatives", options->alternatives,
             "how many of the costliest rows are also timed in other layouts, algorithms and "
             "backends",
             Range{0, 1e6});
  parser.AddFlag(
      "--ceilings", options->ceilings,
      "also measure the ceilings of this machine, and print each row's share of its own");
  parser.AddFlag("--exact", options->exact,
                 "also count the FLOPs and instructions that each row executes, with one "
                 "translated run of it, and compute its Top-Down bounds; as --counters exact");
  parser.Add("--counters auto|perf|exact|none", options->counters,
             "what counts the rows, and with --live the program's primitives (default: none)");
  parser.Add("--metrics", options->metrics,
             "what perf counts: topdown-l1 to topdown-l4, flops, memory, EVENT, ...");
  parser.Add("--save FILE", options->save,
             "write the rows as a problem set for bench --problems to this file");
  parser.Add("--json FILE", options->json,
             "write everything to this file as JSON; - is standard output");
  parser.Add("--html FILE", options->html, "write the page to this file; - is standard output");
  return [options, &parser] { return RunTrace(parser, *options); };
}

const CommandRegistration kTrace({"trace", Question::kExplain,
                                  "what a framework ran, read from oneDNN's log and measured here",
                                  ConfigureTrace,
                                  "topdnn trace --run -- python3 train.py --steps 2"});

}  // namespace

}  // namespace topdnn
