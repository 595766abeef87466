#include "bench/studies/fleet/fleet_submission.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <random>
#include <set>
#include <string_view>
#include <system_error>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/nearest.h"
#include "bench/formats/whole_file.h"
#include "bench/studies/process/child_program.h"
#include "bench/studies/process/folder_lock.h"
#include "bench/studies/sweep/sweep_folder.h"
#include "harness/files/atomic_file.h"
#include "harness/text/one_line.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCommandMark = "@COMMAND@";
constexpr const char* kUsualScript =
    "#!/bin/sh\n"
    "# Runs a set of cases of a study of topdnn on a node. Lines such as `module load` may be "
    "added\n"
    "# before the command; `topdnn fleet submit STUDY --resume` submits this file as it is.\n"
    "@COMMAND@\n";
constexpr const char* kUsualTimeout = "10m";
constexpr int kUsualSets = 16;
constexpr int kMostSets = 1000;  // Slurm's own limit of an array, unless it is configured
constexpr std::size_t kMostScriptBytes = std::size_t{1} << 20;

fs::path ScriptOf(const Fleet& fleet, const NodeKind& kind) {
  return fleet.folder / ("job-" + kind.name + ".sh");
}

// What the script runs. A node that does not see the folder must not measure somewhere else.
std::string CommandOf(const Fleet& fleet, const NodeKind& kind, const FleetRequest& request) {
  const std::string task = fmt::format("\"tasks/{}-$SLURM_ARRAY_TASK_ID\"", kind.name);
  const std::string program = request.program.empty() ? OwnProgram() : request.program;
  const std::string timeout = request.timeout.empty() ? kUsualTimeout : request.timeout;
  return fmt::format(
      "cd -- {} && test -f {}/sweep.json || {{\n"
      "  echo 'topdnn: this node does not see the folder of the study:'\\\n"
      "    'put it on a file system that all nodes share' >&2\n"
      "  exit 2\n"
      "}}\n"
      "exec {} sweep --resume --wait 1h --timeout {:.0f}s --quiet --out {}",
      JoinedWords({fleet.folder.string()}), task, JoinedWords({program}),
      std::ceil(ParseDuration("--timeout", timeout)), task);
}

std::string ScriptText(const FleetRequest& request) {
  if (request.script.empty()) return kUsualScript;
  std::string text = ReadWholeFile(request.script, kMostScriptBytes);
  const std::size_t at = text.find(kCommandMark);
  if (at == std::string::npos || text.find(kCommandMark, at + 1) != std::string::npos ||
      !text.starts_with("#!")) {
    throw UsageError(
        fmt::format("--template {}: must begin with #! and have {} once, where the cases run",
                    OneLine(request.script), kCommandMark));
  }
  return text;
}

// The job runs in another folder, so paths must be absolute.
void MakePathsAbsolute(SweepPlan& plan) {
  std::error_code none;
  const auto absolute = [&none](std::string& path) {
    if (fs::exists(path, none)) path = fs::absolute(path).lexically_normal().string();
  };
  if (const auto networks = plan.values.find("network"); networks != plan.values.end()) {
    for (std::string& network : networks->second) {
      if (network.ends_with(".onnx")) absolute(network);
    }
  }
  for (auto& [option, value] : plan.settings) {
    if (option == "--data" && value != "synthetic") absolute(value);
  }
}

std::string NewId(std::tm now) {
  static std::mt19937 random(std::random_device{}());
  return fmt::format("{:%Y%m%dT%H%M%S}-{:08x}", now, static_cast<std::uint32_t>(random()));
}

// The request's options of sbatch.
std::vector<std::string> OptionsOf(const FleetRequest& request) {
  std::vector<std::string> options;
  if (!request.partition.empty()) options.push_back("--partition=" + request.partition);
  if (!request.time_limit.empty()) {
    const double minutes = std::ceil(ParseDuration("--time-limit", request.time_limit) / 60);
    options.push_back(fmt::format("--time={:.0f}", minutes));
  }
  if (!request.exclusive.empty()) {
    CheckName("value for --exclusive", request.exclusive, {"yes", "no", "user"});
    if (request.exclusive == "yes") options.emplace_back("--exclusive");
    if (request.exclusive == "user") options.emplace_back("--exclusive=user");
  }
  for (const std::string& option : request.sbatch) {
    if (!option.starts_with("-")) {
      throw UsageError(fmt::format("--sbatch {}: must be an option, as --sbatch=--account=NAME",
                                   OneLine(option)));
    }
    options.push_back(option);
  }
  return options;
}

// "--account" of "--account=me", and "-A" of "-Ame".
std::string_view NameOfSlurmOption(std::string_view option) {
  return option.starts_with("--") ? option.substr(0, option.find('=')) : option.substr(0, 2);
}

void MakeTask(const Fleet& fleet, const NodeKind& kind, int set) {
  const SweepFolder folder((fleet.folder / Fleet::TaskName(kind, set)).string(), /*resume=*/false);
  folder.Write(NewIndex(fleet.PlanOfSet(set)));
}

}  // namespace

std::vector<NodeKind> KindsOf(const FleetRequest& request) {
  std::vector<NodeKind> kinds;
  for (const std::string& constraint : SplitAtCommas(request.constraints)) {
    kinds.push_back({.name = FileName(constraint), .constraint = constraint});
  }
  for (const std::string& node : SplitAtCommas(request.nodes)) {
    if (node.find_first_of("[]") != std::string::npos) {
      throw UsageError(fmt::format("--nodes {}: give single names with commas between them",
                                   OneLine(request.nodes)));
    }
    kinds.push_back({.name = FileName(node), .node = node});
  }
  if (kinds.empty()) kinds.push_back({.name = "any"});
  std::set<std::string> names;
  for (const NodeKind& kind : kinds) {
    if (kind.name.empty() || !names.insert(kind.name).second) {
      throw UsageError(fmt::format(
          "--constraint {} --nodes {}: each must be a name, and differ from the others in its "
          "letters, digits, dots or dashes",
          OneLine(request.constraints), OneLine(request.nodes)));
    }
  }
  return kinds;
}

Fleet MakeFleet(const std::string& study, const SweepPlan& plan, const FleetRequest& request) {
  const std::time_t now = std::time(nullptr);
  Fleet fleet{.folder = fs::absolute(study).lexically_normal(),
              .id = NewId(fmt::gmtime(now)),
              .submitted = fmt::format("{:%Y-%m-%d}", fmt::localtime(now)),
              .plan = plan,
              .kinds = KindsOf(request)};
  if (!fleet.folder.has_filename()) fleet.folder = fleet.folder.parent_path();
  if (fleet.folder.string().find('\\') != std::string::npos) {
    throw UsageError(
        fmt::format("{}: Slurm writes no file to a path with a backslash: give another "
                    "folder",
                    OneLine(study)));
  }
  MakePathsAbsolute(fleet.plan);
  const auto cases = static_cast<int>(CasesOf(fleet.plan).size());
  if (request.sets < 0 || request.sets > std::min(cases, kMostSets)) {
    throw UsageError(fmt::format("--sets {}: must be 1 to {}: the study has {}", request.sets,
                                 std::min(cases, kMostSets), CountText(cases, "case")));
  }
  fleet.sets = request.sets == 0 ? std::min(cases, kUsualSets) : request.sets;
  FleetRequest usual = request;
  if (usual.exclusive.empty()) usual.exclusive = "yes";
  fleet.sbatch = OptionsOf(usual);
  const std::string script = ScriptText(request);
  const std::size_t at = script.find(kCommandMark);
  std::error_code error;
  if (fs::exists(fleet.folder / kFleetFile, error)) {
    throw UsageError(
        fmt::format("{}: has a study: add --resume to continue it, or give another "
                    "folder",
                    OneLine(study)));
  }
  // RemoveFleet removes these, so none of them may be the user's.
  std::vector<fs::path> made = {fleet.folder / "tasks", fleet.folder / kFolderLock};
  for (const NodeKind& kind : fleet.kinds) made.push_back(ScriptOf(fleet, kind));
  for (const fs::path& path : made) {
    if (!fs::exists(path, error)) continue;
    throw UsageError(
        fmt::format("{}: exists, but the folder has no study: remove it, or give "
                    "another folder",
                    OneLine(path.string())));
  }
  fs::create_directories(fleet.folder / "tasks", error);
  if (error) {
    throw UsageError(
        fmt::format("{}: {}: give a folder that may be written, on a file system that "
                    "all nodes share",
                    OneLine(study), error.message()));
  }
  try {
    for (const NodeKind& kind : fleet.kinds) {
      std::string text = script;
      text.replace(at, kCommandMark.size(), CommandOf(fleet, kind, request));
      WriteFileAtomically(ScriptOf(fleet, kind).string(), text);
      for (int set = 1; set <= fleet.sets; ++set) MakeTask(fleet, kind, set);
    }
    WriteFleet(fleet);
  } catch (...) {
    RemoveFleet(fleet);
    throw;
  }
  return fleet;
}

void ChangeFleet(const FleetRequest& request, Fleet& fleet) {
  const std::vector<std::string> options = OptionsOf(request);
  std::set<std::string_view> replaced;
  for (const std::string& option : options) replaced.insert(NameOfSlurmOption(option));
  // (--exclusive=no is no option of sbatch)
  if (!request.exclusive.empty()) replaced.insert("--exclusive");
  std::erase_if(fleet.sbatch, [&replaced](const std::string& option) {
    return replaced.contains(NameOfSlurmOption(option));
  });
  fleet.sbatch.insert(fleet.sbatch.end(), options.begin(), options.end());
}

std::vector<int> AllSets(const Fleet& fleet) {
  std::vector<int> sets(static_cast<std::size_t>(fleet.sets));
  std::iota(sets.begin(), sets.end(), 1);
  return sets;
}

std::vector<std::string> JobArguments(const Fleet& fleet, const NodeKind& kind,
                                      const std::vector<int>& sets) {
  // Slurm expands patterns ("%j") also in the folder's name.
  std::string logs;
  for (const char c : fleet.folder.string()) logs += c == '%' ? std::string("%%") : std::string{c};
  std::vector<std::string> arguments = {"--parsable",
                                        "--requeue",
                                        "--nodes=1",
                                        "--job-name=" + fleet.JobName(kind),
                                        "--chdir=" + fleet.folder.string(),
                                        fmt::format("--output={}/tasks/{}-%a.log", logs, kind.name),
                                        "--open-mode=append",
                                        fmt::format("--array={}", fmt::join(sets, ","))};
  if (!kind.constraint.empty()) arguments.push_back("--constraint=" + kind.constraint);
  if (!kind.node.empty()) arguments.push_back("--nodelist=" + kind.node);
  arguments.insert(arguments.end(), fleet.sbatch.begin(), fleet.sbatch.end());
  arguments.push_back(ScriptOf(fleet, kind).string());
  return arguments;
}

std::vector<Submission> SubmissionsOf(const Fleet& fleet) {
  std::vector<Submission> submissions;
  for (const FleetTask& task : TasksOf(fleet)) {
    if (task.Active() || task.Complete()) continue;
    if (submissions.empty() || submissions.back().kind.name != task.kind.name) {
      submissions.push_back({.kind = task.kind});
    }
    submissions.back().sets.push_back(task.set);
  }
  return submissions;
}

std::vector<Submission> SubmitFleet(const Fleet& fleet) {
  const FolderLock lock(fleet.folder, fleet.folder.string(), [&](double) {
    throw UsageError(fmt::format("{}: another process submits this study: wait for its end",
                                 OneLine(fleet.folder.string())));
  });
  std::vector<Submission> submissions = SubmissionsOf(fleet);
  for (const Submission& one : submissions) {
    CheckJob(JobArguments(fleet, one.kind, one.sets));
  }
  for (Submission& one : submissions) {
    try {
      one.job = SubmitJob(JobArguments(fleet, one.kind, one.sets));
    } catch (const UsageError& error) {
      if (&one == &submissions.front()) throw;
      throw PartlySubmitted(
          fmt::format("{}; the jobs before {}'s are submitted: submit the others "
                      "with --resume",
                      error.what(), one.kind.name));
    }
    if (&one == &submissions.front()) WriteFleet(fleet);
  }
  return submissions;
}

void RemoveFleet(const Fleet& fleet) {
  std::error_code ignored;
  fs::remove(fleet.folder / kFleetFile, ignored);
  fs::remove_all(fleet.folder / "tasks", ignored);
  for (const NodeKind& kind : fleet.kinds) fs::remove(ScriptOf(fleet, kind), ignored);
  fs::remove(fleet.folder / kFolderLock, ignored);
  fs::remove(fleet.folder, ignored);  // if it is empty
}

}  // namespace topdnn
