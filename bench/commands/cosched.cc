// `topdnn cosched`: runs a trace of jobs on this machine's CPUs under several policies, or
// simulates it.

#include "bench/studies/cosched/cosched.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/interrupt.h"
#include "bench/studies/cosched/cosched_check.h"
#include "bench/studies/cosched/cosched_compare.h"
#include "bench/studies/cosched/cosched_measure.h"
#include "bench/studies/cosched/cosched_run.h"
#include "bench/studies/process/child_program.h"
#include "bench/studies/process/temporary_folder.h"
#include "bench/workload/network_source.h"
#include "harness/files/atomic_file.h"
#include "harness/files/input_file.h"
#include "harness/report/json.h"
#include "harness/report/publish_result.h"
#include "harness/scheduling/machine_speed.h"
#include "harness/scheduling/simulator.h"
#include "harness/text/errors.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"

namespace topdnn {

namespace {

constexpr std::size_t kJobsShown = 20;
constexpr std::size_t kMostRealJobs = 1000;

struct CoschedOptions {
  std::string policies = "all";
  std::optional<int> jobs;
  std::uint64_t seed = 3;
  double load = 1;
  std::string trace, write_trace;
  std::string curves, write_curves;
  std::optional<int> cpus;
  std::optional<int> part_width;
  std::string window = "0.2s", timeout = "1m";
  std::string program;
  std::string json;
  bool simulate = false, quiet = false, no_speed_check = false;
};

std::vector<const Policy*> PoliciesOf(const std::string& names) {
  std::vector<const Policy*> policies;
  for (const std::string& name : SplitAtCommas(names)) {
    if (name == "all") {
      for (const Policy& policy : Policies()) policies.push_back(&policy);
      continue;
    }
    policies.push_back(FindPolicy(name));
    if (policies.back() != nullptr) continue;
    std::string known = "all";
    for (const Policy& policy : Policies()) known += fmt::format(", {}", policy.name);
    throw UsageError(
        fmt::format("--policy {}: there is no such policy: name {}", OneLine(name), known));
  }
  return policies;
}

// At most that many of the CPUs that may be used now.
std::vector<int> FirstCpus(int count) {
  std::vector<int> cpus = UsableCpus();
  cpus.resize(std::min(cpus.size(), static_cast<std::size_t>(count)));
  return cpus;
}

int CpusOf(const CoschedOptions& options) {
  const int usable = static_cast<int>(UsableCpus().size());
  const int cpus = options.cpus.value_or(usable);
  if (cpus <= usable || options.simulate) return cpus;
  throw UsageError(fmt::format(
      "--cpus {}: this process may use {}: take at most as many, or --simulate", cpus, usable));
}

std::string ReadTrace(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  return ReadInputFile(
      path, {.most_bytes = kMostBytes, .smaller = "divide the trace"},
      [&](const std::string& why) { throw UsageError(fmt::format("{}: {}", OneLine(path), why)); });
}

std::string WhyNoNetwork(const std::string& network) {
  if (IsOnnxPath(network)) return "";
  try {
    CheckNetworkName(network);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::vector<TraceJob> JobsOf(const CoschedOptions& options, int cpus) {
  if (options.trace.empty()) {
    return GenerateTrace({.jobs = options.jobs.value_or(8),
                          .seed = options.seed,
                          .load_percent = static_cast<int>(std::lround(options.load * 100)),
                          .cpus = cpus},
                         NominalJobs());
  }
  return ParseTrace(ReadTrace(options.trace), options.trace, cpus, WhyNoNetwork);
}

int PartWidthOf(const CoschedOptions& options, const std::vector<TraceJob>& jobs, int cpus) {
  std::vector<WidthDemand> limits;
  int least = 1;
  for (const TraceJob& job : jobs) {
    limits.push_back({1, job.min_width, job.max_width});
    least = std::max(least, job.min_width);
  }
  const int width = options.part_width.value_or(DefaultPartWidth(limits));
  if (width < least || width > cpus) {
    throw UsageError(fmt::format(
        "--part-width {}: must be {} (the largest minimum width of a job) to {} (the CPUs)", width,
        least, cpus));
  }
  return width;
}

SpeedSettings SpeedSettingsOf(const CoschedOptions& options, const JobLaunch& launch,
                              ProgressLine& line) {
  SpeedSettings settings{.launch = launch,
                         .cpus = FirstCpus(options.cpus.value_or(kMostTraceWidth)),
                         .window_seconds = ParseDuration("--window", options.window),
                         .cancel = &InterruptFlag()};
  settings.progress = [&line](const std::string& what, double share) {
    line.Show(fmt::format("{}: {:.0f} %", what, 100 * share));
  };
  return settings;
}

MeasuredSpeed ModelOf(const CoschedOptions& options, const std::string& source,
                      const std::vector<TraceJob>& jobs, const JobLaunch& launch,
                      ProgressLine& line) {
  const std::vector<TraceJob> kinds = KindsOf(jobs);
  MeasuredSpeed measured;
  SpeedModel& model = measured.model;
  if (source == "nominal") {
    model = NominalModel(kinds);
  } else if (source == "measured") {
    measured = MeasureSpeed(kinds, SpeedSettingsOf(options, launch, line));
  } else {
    model = ReadSpeedModel(source);
  }
  if (Interrupted()) return measured;
  try {
    CurvesOf(jobs, model);
  } catch (const std::invalid_argument& error) {
    throw UsageError(
        fmt::format("--curves {}: {}: take --curves measured", OneLine(source), error.what()));
  }
  return measured;
}

Schedule RunPolicy(const Policy& policy, const CoschedResult& result, const JobLaunch& launch,
                   ProgressLine& line) {
  const auto show = [&](std::size_t done) {
    line.Show(fmt::format("{}: {} of {} jobs", policy.name, done, result.jobs.size()));
  };
  show(0);
  return RunSchedule(result.jobs, policy,
                     {.launch = launch,
                      .part_width = result.part_width,
                      .cpus = [&result] { return FirstCpus(result.cpus); },
                      .cancel = &InterruptFlag(),
                      .progress = show});
}

// Runs the policies one after another, until an interrupt. The speed check after a policy is also
// the one before the next policy.
void Evaluate(const std::vector<const Policy*>& policies, const CoschedOptions& options,
              const JobLaunch& launch, ProgressLine& line, CoschedResult& result) {
  std::optional<SpeedCheck> before;
  const bool checked = !options.simulate && !options.no_speed_check;
  const auto check = [&] {
    return CheckSpeed(KindsToCheck(result.jobs, result.model),
                      SpeedSettingsOf(options, launch, line));
  };
  for (const Policy* policy : policies) {
    if (checked && !before && !Interrupted()) before = check();
    if (Interrupted()) return;
    CoschedPolicy evaluated{.policy = policy, .real = {}, .simulated = {}};
    if (!options.simulate) evaluated.real = RunPolicy(*policy, result, launch, line);
    if (checked && !Interrupted()) {
      SpeedCheck after = check();
      AddSpeed(*before, after, result, evaluated);
      before = std::move(after);
    }
    SimulatePolicy(result, evaluated);
    result.policies.push_back(std::move(evaluated));
  }
}

// Everything that can be refused is refused before anything runs.
CoschedResult Prepare(const CoschedOptions& options) {
  CoschedResult result;
  result.cpus = CpusOf(options);
  result.jobs = JobsOf(options, result.cpus);
  if (!options.simulate && result.jobs.size() > kMostRealJobs) {
    throw UsageError(fmt::format("{} jobs: at most {} can run on a machine: take --simulate",
                                 result.jobs.size(), kMostRealJobs));
  }
  result.part_width = PartWidthOf(options, result.jobs, result.cpus);
  result.model_source = options.curves;
  if (options.curves.empty()) {
    // A simulation by default starts no process, and gives the same result on every machine.
    const bool nominal = options.simulate && HaveNominalTimes(KindsOf(result.jobs));
    result.model_source = nominal ? "nominal" : "measured";
  }
  return result;
}

int ShowResult(const CoschedOptions& options, const CoschedResult& result) {
  PublishResult(
      options.json, [&] { return CoschedJson(result); },
      [&](const Style& style) { return CoschedText(result, kJobsShown, style); });
  if (Interrupted()) return kExitInterrupted;
  for (const CoschedPolicy& policy : result.policies) {
    if (MetricsOf(policy.shown()).failed > 0) return kExitWrong;
  }
  return kExitGood;
}

int RunCosched(const CommandParser& parser, const CoschedOptions& options) {
  if (!options.trace.empty()) parser.Refuse({"--jobs", "--seed", "--load"}, "with --trace");
  if (options.simulate) parser.Refuse({"--no-speed-check"}, "with --simulate");
  ParseDuration("--window", options.window);
  const std::vector<const Policy*> policies = PoliciesOf(options.policies);
  for (const auto& [option, path] : {std::pair("--write-trace", &options.write_trace),
                                     std::pair("--write-curves", &options.write_curves)}) {
    if (*path != kStandardOutput) continue;
    throw UsageError(fmt::format("{} -: the table goes to standard output; name a file", option));
  }
  CheckOutputs({options.json, options.write_trace, options.write_curves},
               {options.trace, options.curves});
  CoschedResult result = Prepare(options);
  if (!options.write_trace.empty()) {
    WriteFileAtomically(options.write_trace, TraceText(result.jobs));
  }
  InterruptFlag();  // (from here an interrupt leaves no folder)
  const TemporaryFolder folder;
  JobLaunch launch{.program = {OwnProgram(), "malleable"},
                   .folder = folder.path(),
                   .environment = JobEnvironment(),
                   .most_seconds = ParseDuration("--timeout", options.timeout)};
  if (!options.program.empty()) launch.program = {options.program};
  ProgressLine line(options.quiet ? Style{} : DetectStyle(stderr));
  try {
    MeasuredSpeed measured = ModelOf(options, result.model_source, result.jobs, launch, line);
    result.model = std::move(measured.model);
    result.model_others = measured.others;
  } catch (const RunFailure& error) {
    line.Erase();
    fmt::print(stderr, "topdnn: cosched: {}\n", OneLine(error.what()));
    return kExitWrong;
  }
  Outputs outputs;
  if (!Interrupted()) {
    outputs.Write(options.write_curves, [&] {
      WriteFileAtomically(options.write_curves, JsonText(SpeedModelJson(result.model)));
    });
  }
  Evaluate(policies, options, launch, line, result);
  CompareSpeeds(result);
  result.complete = !Interrupted();
  line.Erase();
  const int status = ShowResult(options, result);
  outputs.Finish();
  return status;
}

std::function<int()> ConfigureCosched(CommandParser& parser) {
  auto options = std::make_shared<CoschedOptions>();
  parser.Add("--policy NAME,...", options->policies,
             "policies to compare: fcfs, uncontrolled, static, proportional, equal, or all");
  parser.Add("--jobs", options->jobs, "jobs of a random trace (default: 8)", {1, kMostTraceJobs});
  parser.Add("--seed", options->seed, "seed of the random trace");
  parser.Add("--load", options->load,
             "work that arrives, divided by what the CPUs can do, in a random trace", {0.01, 1000});
  parser.Add("--trace FILE", options->trace, "read the jobs from this CSV file");
  parser.Add("--write-trace FILE", options->write_trace, "write the trace to this file as CSV");
  parser.AddFlag("--simulate", options->simulate, "simulate only: no jobs run");
  parser.Add("--cpus", options->cpus, "CPUs (default: those that this process may use)",
             {1, kMostTraceWidth});
  parser.Add("--part-width", options->part_width,
             "CPUs of a part of the static partition (default: half of the mean maximum width)",
             {1, kMostTraceWidth});
  parser.Add("--curves FILE", options->curves,
             "times of steps by width: measured, nominal (rough, without measurement), or a file "
             "of --write-curves (default: measured; nominal for --simulate, if all jobs have "
             "nominal times)");
  parser.Add("--write-curves FILE", options->write_curves,
             "write the times of steps by width to this file as JSON");
  parser.AddFlag("--no-speed-check", options->no_speed_check,
                 "do not measure the machine's speed before and after each policy");
  parser.Add("--window TIME", options->window, "length of a measurement of the time of a step");
  parser.Add("--timeout TIME", options->timeout,
             "a job hangs if it ends no step, or answers no request, within this time");
  parser.Add(
      "--job-program FILE", options->program,
      "the program of a job, which gets the arguments of `topdnn malleable` (default: that)");
  parser.Add("--json FILE", options->json, "write everything to this file as JSON");
  parser.AddFlag("--quiet", options->quiet, "no progress");
  for (const Policy& policy : Policies()) {
    parser.AddFooter(fmt::format("{}: {} ({}).", policy.name, policy.what, policy.source));
  }
  return [options, &parser] { return RunCosched(parser, *options); };
}

const CommandRegistration kCosched(
    {"cosched", Question::kShare,
     "compares policies that divide the CPUs among jobs, on this machine or simulated",
     ConfigureCosched, "topdnn cosched --policy all --jobs 8 --json cosched.json"});

}  // namespace

}  // namespace topdnn
