#include "bench/studies/fleet/slurm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/formats/whole_file.h"
#include "bench/studies/process/child_program.h"
#include "bench/studies/process/temporary_folder.h"
#include "harness/text/errors.h"
#include "harness/text/one_line.h"
#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;

// The lines of squeue that are data begin with this. Its messages are in the same stream.
constexpr std::string_view kMark = "topdnn";
constexpr double kMostSeconds = 120;

template <class Number>
bool ReadNumber(std::string_view text, Number& value) {
  value = ParseNumber<Number>(text).value_or(-1);
  return value >= 0;
}

std::optional<fs::path> FindInPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  for (const std::string_view folder : SplitText(path == nullptr ? "/usr/bin" : path, ":")) {
    const fs::path file = fs::path(folder) / program;
    if (file.is_absolute() && access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

// Whether Slurm did what it was asked for is not known.
class NoAnswer : public UsageError {
 public:
  using UsageError::UsageError;
};

struct Answer {
  bool good = false;
  std::string output;
};

Answer RunSlurm(const std::string& command, const std::vector<std::string>& arguments) {
  const auto file = FindInPath(command);
  if (!file) {
    throw UsageError(fmt::format(
        "{}: not found in PATH: run this on a machine of the cluster that submits jobs; Debian has "
        "it in slurm-client",
        command));
  }
  const TemporaryFolder folder;
  ChildProgram child;
  child.arguments = {file->string()};
  child.arguments.insert(child.arguments.end(), arguments.begin(), arguments.end());
  // (times in the language of the messages would be harder to read)
  child.environment = {{"LC_ALL", "C"}, {"SLURM_TIME_FORMAT", "standard"}};
  child.log = (folder.path() / "output").string();
  child.most_seconds = kMostSeconds;
  child.cancel = &InterruptFlag();
  const ChildOutcome outcome = RunChild(child);
  if (outcome.end == ChildOutcome::End::kCancelled) throw Interruption();
  if (outcome.end == ChildOutcome::End::kTimedOut) {
    throw NoAnswer(
        fmt::format("{}: no answer within {:.0f} s: see whether slurmctld runs: `scontrol ping`",
                    command, kMostSeconds));
  }
  if (outcome.end == ChildOutcome::End::kSignalled) {
    throw NoAnswer(
        fmt::format("{}: was ended by signal {}: see the limits of this shell (ulimit -a)", command,
                    outcome.status));
  }
  return {.good = outcome.status == 0, .output = ReadWholeFile(child.log, std::size_t{1} << 28)};
}

// A known failure of a command of Slurm: a part of its message, and the fix.
struct KnownProblem {
  std::string_view part;
  std::string_view fix;
};

constexpr KnownProblem kKnownProblems[] = {
    {"unge", "start munged on this machine; it needs the cluster's key, /etc/munge/munge.key"},
    {"uthentication", "give this machine the cluster's munge key, and start munged"},
    {"configuration is not available", "`sinfo -Nl` lists the nodes with their features"},
    {"configuration", "set SLURM_CONF to the cluster's slurm.conf"},
    {"ontact slurm controller", "see whether slurmctld runs: `scontrol ping`"},
    {"onnection refused", "see whether slurmctld runs: `scontrol ping`"},
    {"nvalid partition", "`sinfo` lists the partitions: --partition NAME"},
    {"nvalid feature", "`sinfo -o %f` lists the features of the nodes: --constraint NAME"},
    {"nvalid node name", "`sinfo -N` lists the nodes: --nodes NAME"},
};

// The last line that is not empty, without "sbatch: error: ".
std::string LastMessage(std::string_view command, std::string_view output) {
  std::string last;
  for (const std::string_view part : SplitText(output, "\n")) {
    std::string line(part);
    for (const std::string& prefix :
         {std::string(command) + ": ", std::string("error: "), std::string("fatal: ")}) {
      if (line.starts_with(prefix)) line.erase(0, prefix.size());
    }
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

bool IsActive(std::string_view state) {
  constexpr std::string_view kEnded[] = {"",          "BOOT_FAIL", "CANCELLED", "COMPLETED",
                                         "DEADLINE",  "FAILED",    "NODE_FAIL", "OUT_OF_MEMORY",
                                         "PREEMPTED", "REVOKED",   "TIMEOUT"};
  return std::find(std::begin(kEnded), std::end(kEnded), state) == std::end(kEnded);
}

std::string SlurmProblem(std::string_view command, std::string_view output) {
  std::string message = OneLine(LastMessage(command, output));
  if (message.empty()) message = "it failed without a message";
  for (const KnownProblem& known : kKnownProblems) {
    if (output.find(known.part) == std::string_view::npos) continue;
    return fmt::format("{}: {}: {}", command, message, known.fix);
  }
  return fmt::format("{}: {}: correct the options, or ask the cluster's operators", command,
                     message);
}

void CheckJob(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"--test-only"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Answer answer = RunSlurm("sbatch", words);
  if (!answer.good) throw UsageError(SlurmProblem("sbatch", answer.output));
}

std::int64_t SubmitJob(const std::vector<std::string>& arguments) {
  try {
    const Answer answer = RunSlurm("sbatch", arguments);
    for (const std::string_view line : SplitText(answer.output, "\n")) {
      std::int64_t job = 0;
      if (answer.good && ReadNumber(SplitText(line, ";").front(), job)) return job;
    }
    const std::string problem = SlurmProblem("sbatch", answer.output);
    // sbatch also gives up by itself: "Socket timed out on send/recv operation".
    const bool refused = !answer.good && answer.output.find("imed out") == std::string::npos;
    if (refused) throw UsageError(problem);
    throw NoAnswer(problem);
  } catch (const NoAnswer& error) {
    throw RunFailure(
        fmt::format("{}; Slurm may have the job, so the study stays: `submit STUDY "
                    "--resume` submits what Slurm does not have",
                    error.what()));
  }
}

bool ReadQueueLine(std::string_view line, SlurmTask& task) {
  const std::vector<std::string_view> parts = SplitText(line, "|");
  constexpr std::size_t kParts = 7;
  if (parts.size() < kParts || parts[0] != kMark) return false;
  task = {.job_name = std::string(parts[1]),
          .state = std::string(parts[4]),
          .nodes = std::string(parts[5]),
          .reason = std::string(parts[6])};
  if (task.reason == "None") task.reason.clear();
  return ReadNumber(parts[2], task.job) && ReadNumber(parts[3], task.task);
}

bool ReadAccountLine(std::string_view line, SlurmTask& task) {
  const std::vector<std::string_view> parts = SplitText(line, "|");
  constexpr std::size_t kParts = 5;
  if (parts.size() < kParts) return false;
  const std::vector<std::string_view> id = SplitText(parts[0], "_");
  // "CANCELLED by 1000"
  task = {.job_name = std::string(parts[1]),
          .state = std::string(SplitText(parts[2], " ").front()),
          .nodes = std::string(parts[3])};
  if (task.nodes == "None assigned") task.nodes.clear();
  if (parts[4] != "0:0") {
    task.reason = fmt::format("exit status {}", SplitText(parts[4], ":").front());
  }
  return id.size() == 2 && ReadNumber(id[0], task.job) && ReadNumber(id[1], task.task);
}

std::vector<SlurmTask> FindTasks(const std::vector<std::string>& job_names,
                                 const std::string& since) {
  std::map<std::pair<std::string, int>, SlurmTask> latest;
  const auto add = [&](const SlurmTask& task) {
    SlurmTask& known = latest[{task.job_name, task.task}];
    if (task.job > known.job) known = task;
  };
  const std::string names = fmt::format("{}", fmt::join(job_names, ","));
  const Answer queue =
      RunSlurm("squeue", {"--noheader", "--array", "--states=all", "--name=" + names,
                          fmt::format("--format={}|%j|%F|%K|%T|%N|%r", kMark)});
  if (!queue.good) throw UsageError(SlurmProblem("squeue", queue.output));
  SlurmTask task;
  for (const std::string_view line : SplitText(queue.output, "\n")) {
    if (ReadQueueLine(line, task)) add(task);
  }
  // Fails without accounts; what the queue knows is newer.
  if (FindInPath("sacct")) {
    const Answer accounts = RunSlurm(
        "sacct", {"--noheader", "--parsable2", "--allocations", "--name=" + names,
                  "--starttime=" + since, "--format=JobID,JobName,State,NodeList,ExitCode"});
    for (const std::string_view line : SplitText(accounts.output, "\n")) {
      if (accounts.good && ReadAccountLine(line, task)) add(task);
    }
  }
  std::vector<SlurmTask> tasks;
  tasks.reserve(latest.size());
  for (auto& [key, found] : latest) tasks.push_back(std::move(found));
  return tasks;
}

}  // namespace topdnn
