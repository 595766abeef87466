// `topdnn bench`: every case under Google Benchmark, with its flags, console and JSON.
//
// This file also does what Google Benchmark 1.7.1 leaves to its caller: the exit status when a
// filter matches nothing or a case fails, and an output file that is complete, valid JSON or does
// not exist.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <regex.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "bench/benchdnn/benchdnn_batch.h"
#include "bench/benchdnn/benchdnn_line.h"
#include "bench/benchdnn/benchdnn_problem_set.h"
#include "bench/cases/cases.h"
#include "bench/cases/kernel_benchmarks.h"
#include "bench/cases/kernel_explanation.h"
#include "bench/cases/network_benchmarks.h"
#include "bench/cases/problem_sets.h"
#include "bench/choice/kernels/selection.h"
#include "bench/command_line/benchmark_flags.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/interrupt.h"
#include "bench/command_line/plugin_words.h"
#include "bench/command_line/sudden_end.h"
#include "bench/machine/libraries.h"
#include "bench/profile/generated_code.h"
#include "bench/speed/speed.h"
#include "bench/workload/workload.h"
#include "harness/files/atomic_file.h"
#include "harness/files/small_file.h"
#include "harness/text/errors.h"
#include "kernels/op/problem.h"

namespace topdnn {

namespace {

// The cases that --benchmark_filter selects: an extended POSIX regular expression, negated by a
// leading '-'. If there are none, Google Benchmark itself would run nothing and exit with 0.
std::vector<const BenchmarkCase*> Selected(const BenchmarkCases& cases) {
  std::string filter = benchmark::GetBenchmarkFilter();
  if (filter.empty() || filter == "all") filter = ".";
  const bool negated = filter.front() == '-';
  if (negated) filter.erase(0, 1);
  regex_t expression;
  if (regcomp(&expression, filter.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
    throw UsageError(fmt::format("bench: --benchmark_filter={}: not a regular expression", filter));
  }
  std::vector<const BenchmarkCase*> selected;
  for (const BenchmarkCase& one : cases.all) {
    if ((regexec(&expression, one.name.c_str(), 0, nullptr, 0) == 0) != negated) {
      selected.push_back(&one);
    }
  }
  regfree(&expression);
  if (selected.empty()) {
    throw UsageError(
        "bench: --benchmark_filter matches no case; --benchmark_list_tests lists them");
  }
  return selected;
}

// Holds Google Benchmark's output file in memory, so that the requested file appears complete or
// not at all. It stays open in a new image of the program (sudden_end.h).
class OutputInMemory {
 public:
  OutputInMemory() : fd_(memfd_create("benchmark_out", 0)) {
    if (fd_ < 0) {
      throw std::system_error(errno, std::generic_category(), "a file in memory for the results");
    }
  }
  ~OutputInMemory() { close(fd_); }
  OutputInMemory(const OutputInMemory&) = delete;
  OutputInMemory& operator=(const OutputInMemory&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }
  std::string Text() const { return TextOf(path()); }
  static std::string TextOf(const std::string& path) {
    constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
    return ReadSmallFile(path, kMaxBytes).text;
  }

 private:
  int fd_;
};

// Writes the complete results to the requested file.
void Publish(const std::string& text, const BenchmarkFlags& flags) {
  if (flags.out_format == "console") return WriteFileAtomically(flags.out, text);
  if (!nlohmann::json::accept(text)) {
    throw RunFailure(fmt::format("{}: Google Benchmark made no valid JSON for it", flags.out));
  }
  WriteFileAtomically(flags.out, flags.out_format == "csv" ? CsvOfBenchmarks(text) : text);
}

// The JSON of the cases that ran, which ends after a row, with a row for what ended the program.
std::string WithLastRow(std::string text, const std::string& line) {
  while (!text.empty() && std::string_view(" ,\n").find(text.back()) != std::string_view::npos) {
    text.pop_back();
  }
  const std::size_t begin = std::string_view("topdnn: ").size();
  const std::string name = line.substr(begin, line.find(' ', begin) - begin);  // the case
  const std::string row = nlohmann::json{
      {"name", name},
      {"run_type", "iteration"},
      {"error_occurred", true},
      {"error_message", line}}.dump();
  return fmt::format("{}{}\n    {}\n  ]\n}}\n", text, text.ends_with('[') ? "" : ",", row);
}

// Writes the rows that were measured before a sudden end: the words are the file in memory, its
// format and the requested file.
int FinishBench(const Unfinished& unfinished) {
  BenchmarkFlags flags;
  flags.out_format = unfinished.words.at(1);
  flags.out = unfinished.words.at(2);
  const std::string text = OutputInMemory::TextOf(unfinished.words.at(0));
  Publish(flags.out_format == "console" ? text : WithLastRow(text, unfinished.line), flags);
  return unfinished.status;
}

const RescueRegistration kFinishBench("bench", FinishBench);

struct BenchOptions {
  std::vector<std::string> problems;
  std::vector<std::string> files;
  std::optional<int> first;
  int threads = 0;
  bool repro = false;
  std::optional<std::int64_t> hot;  // loops per kernel that are listed
  bool explain = false;
};

constexpr std::int64_t kListedLoops = 2;  // of --hot without a number

// The problem sets that the command line names.
std::vector<ProblemSet> GivenSets(const BenchOptions& options) {
  std::vector<ProblemSet> sets;
  if (options.first && *options.first < 1) {
    throw UsageError(fmt::format("--first {}: must be 1 or more", *options.first));
  }
  const std::size_t first =
      options.first ? static_cast<std::size_t>(*options.first) : kMostBenchdnnProblems;
  for (const std::string& file : options.files) sets.push_back(ReadAnyProblemSet(file, first));
  if (options.problems.empty()) return sets;
  ProblemSet given{.name = "given", .problems = {}, .training = true};
  for (const std::string& problem : options.problems) {
    if (IsBenchdnnText(problem)) {
      AddBenchdnnProblems(problem, "--problem", given);
      continue;
    }
    try {
      given.problems.push_back({.op = ParseProblem(problem)});
    } catch (const ProblemError& error) {
      throw UsageError(fmt::format("--problem: {}", error.what()));
    }
  }
  sets.push_back(std::move(given));
  return sets;
}

// The given problems, if there are any. Otherwise the networks and, with a filter or for a list
// (`everything`), the kernels of all sets: running every case takes days.
void AddCases(const BenchOptions& options, bool everything, BenchmarkCases& cases) {
  WorkloadOptions workload;
  workload.threads = options.threads;
  const int threads = ThreadsOf(workload);
  const std::vector<ProblemSet> given = GivenSets(options);
  if (!given.empty()) return AddKernels(given, threads, SelectingAuto(), cases);
  AddNetworks(options.threads, cases);
  if (!everything) return;
  AddKernels(ProblemSets(), threads, SelectingAuto(), cases);
  AddSpeed(threads, cases);
}

// Each problem once: several backends and states of the caches measure the same one.
void PrintLines(const std::vector<const BenchmarkCase*>& selected) {
  std::set<std::string> printed;
  for (const BenchmarkCase* one : selected) {
    BenchdnnLine line{{}, one->refusal};
    if (one->refusal.empty()) line.reason = "is not a kernel; topdnn plan --repro has a network's";
    std::string name = one->name;
    if (one->op != nullptr) {
      const SettledProblem& settled = one->settled;
      name = fmt::format("{}/{} {} {}", one->op->kind(), one->op->Problem(),
                         NameOf(settled.execution.pass), NameOf(settled.execution.type));
      line = BenchdnnLineOf(
          TracedProblem{one->op, settled.execution, settled.layouts, settled.algorithm});
    }
    const std::string text = line.Printed(name);
    if (printed.insert(text).second) fmt::print("{}\n", text);
  }
}

// Of a run of many cases that takes minutes or more: each is measured for the minimum time, and set
// up and checked before.
void PrintEstimate(std::size_t cases, const BenchmarkFlags& flags) {
  constexpr std::size_t kMany = 10'000;
  if (cases <= kMany || flags.iterations) return;
  constexpr double kShort = 0.01, kLong = 60;
  const double seconds = static_cast<double>(cases) * flags.min_time;
  if (seconds < kLong) return;
  fmt::print(stderr,
             "topdnn: estimate: {} cases of {} s take {} or more; --first N runs fewer problems "
             "of a file{}\n",
             cases, flags.min_time, LongTimeText(seconds),
             flags.min_time > kShort ? ", and --benchmark_min_time=0.01s shortens each" : "");
}

int StatusOfCases(const BenchmarkCases& cases) {
  if (Interrupted()) return kExitInterrupted;
  if (cases.failed > 0) return kExitWrong;
  return cases.timed == 0 && cases.skipped > 0 ? kExitNothing : kExitGood;
}

int RunBench(const CommandParser& parser, const BenchOptions& options) {
  InterruptFlag();
  BenchmarkFlags flags = ReadBenchmarkFlags(parser.OtherArguments());
  if (options.files.empty()) parser.Refuse({"--first"}, "without --problems");
  if (!flags.out.empty() && (options.repro || flags.list)) {
    throw UsageError(fmt::format("--benchmark_out={}: nothing runs with {}: leave it out",
                                 flags.out, options.repro ? "--repro" : "--benchmark_list_tests"));
  }
  std::optional<OutputInMemory> output;
  if (!flags.out.empty()) {
    CheckOutputs({flags.out}, options.files);
    output.emplace();
    // The file gets all rows, also if the reader of the table ends early (`head`).
    std::signal(SIGPIPE, SIG_IGN);
    flags.passed_on.push_back("--benchmark_out=" + output->path());
    const bool console = flags.out_format == "console";
    flags.passed_on.emplace_back(console ? "--benchmark_out_format=console"
                                         : "--benchmark_out_format=json");
  }
  std::string program = "topdnn bench";
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : flags.passed_on) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  BenchmarkCases cases;
  cases.iterations = flags.iterations;
  cases.explains = options.explain || options.hot;
  std::optional<GeneratedCode> generated;
  if (cases.explains) generated.emplace();
  AddCases(options, flags.list || !benchmark::GetBenchmarkFilter().empty(), cases);
  if (options.repro) {
    PrintLines(Selected(cases));
    return kExitGood;
  }
  const std::vector<const BenchmarkCase*> selected = Selected(cases);
  if (!flags.list) PrintEstimate(selected.size(), flags);
  for (const BenchmarkCase* one : selected) {
    if (flags.list) {
      fmt::print("{}\n", one->name);
    } else {
      one->register_case();
    }
  }
  if (flags.list) return kExitGood;
  benchmark::AddCustomContext("command", CommandLine());
  benchmark::AddCustomContext("libraries", LibraryVersions().dump());
  {
    std::optional<AtSuddenEnd> kept;
    if (output) kept.emplace("bench", std::vector{output->path(), flags.out_format, flags.out});
    // (for its own name of all cases, ".", version 1.7.1 copies the whole list for each of them)
    const std::string filter = benchmark::GetBenchmarkFilter();
    const bool all = filter.empty() || filter == "all" || filter == ".";
    benchmark::RunSpecifiedBenchmarks(all ? ".*" : filter);
  }
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();
  if (output) Publish(output->Text(), flags);
  if (cases.explains) {
    fmt::print("{}", ExplanationText(cases.explanations, generated->Names(),
                                     static_cast<std::size_t>(options.hot.value_or(0))));
  }
  return StatusOfCases(cases);
}

std::function<int()> ConfigureBenchmarks(CommandParser& parser) {
  auto options = std::make_shared<BenchOptions>();
  parser.Add("--problem", options->problems,
             "run this problem on every backend, e.g. conv/n8c64h56w56k64r3s3u1v1p1q1; a text that "
             "begins with -- is a line for benchdnn, and runs on oneDNN");
  parser.Add("--problems FILE", options->files,
             "run the problems of a file, one a line, or those of a batch file for benchdnn");
  parser.Add("--first N", options->first, "only the first problems of each file");
  AddPluginOption(parser);
  parser.AddFlag("--repro", options->repro,
                 "print the selected kernels' problems as lines for benchdnn, and run nothing");
  constexpr Range kLoops{1, 100};
  parser.AddOptionalNumber("--hot", kListedLoops, options->hot,
                           "list the instructions of this many loops of each kernel, with what "
                           "binds them",
                           kLoops);
  parser.AddFlag("--explain", options->explain,
                 "print what binds each kernel: its hot loop, and what it executes per "
                 "multiply-add");
  parser.Add("--threads", options->threads,
             "OpenMP threads of the kernels (default: all allowed CPUs)");
  parser.AllowOthers();
  parser.AddFooter(
      "Takes Google Benchmark's flags: --benchmark_filter=REGEX, --benchmark_out=FILE, ... "
      "Without a filter the networks run; --benchmark_filter=deepbench, resnet50, smoke or speed "
      "runs kernels, and --benchmark_list_tests=true lists everything.");
  return [&parser, options] { return RunBench(parser, *options); };
}

const CommandRegistration kBench(
    {"bench", Question::kMeasure,
     "networks' stages and kernels as Google Benchmark cases, with its flags", ConfigureBenchmarks,
     "topdnn bench --problem conv/n1c64h28w28k64r3s3u1v1p1q1 --benchmark_filter=forward"});

}  // namespace

}  // namespace topdnn
