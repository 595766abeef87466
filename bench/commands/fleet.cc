// `topdnn fleet`: a sweep on the nodes of a cluster, by Slurm.

#include "bench/studies/fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/nearest.h"
#include "bench/studies/fleet/fleet_collection.h"
#include "bench/studies/fleet/fleet_comparison.h"
#include "bench/studies/fleet/fleet_report.h"
#include "bench/studies/fleet/fleet_submission.h"
#include "bench/studies/results/result_store.h"
#include "bench/studies/sweep/study.h"
#include "bench/studies/sweep/sweep_options.h"
#include "harness/files/atomic_file.h"
#include "harness/report/publish_result.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

struct FleetCommand {
  std::string action;
  std::string study;
  SweepOptions cases;
  FleetRequest request;
  bool resume = false;
  bool dry_run = false;
  std::string out;
  std::string store;
  std::string compare;
  bool all = false;
  std::string json;
};

// Refuses the options that have no effect on the action.
void CheckAction(const CommandParser& parser, const FleetCommand& options) {
  const std::string action = "on " + options.action;
  if (options.action == "submit") {
    parser.Refuse({"--json", "--out", "--store", "--compare", "--all"}, action);
  } else if (options.action == "status") {
    parser.RefuseAllBut({"--json", "--plugin"}, action);
  } else {
    parser.RefuseAllBut({"--json", "--plugin", "--out", "--store", "--compare", "--all"}, action);
    if (options.compare.empty()) parser.Refuse({"--all"}, "without --compare");
  }
}

// Refuses the options that cannot change in a study: its cases, its kinds of node and its batch
// scripts stay.
void CheckResume(const CommandParser& parser, const std::string& study) {
  const std::set<std::string> of_scripts = {"--template", "--program", "--timeout"};
  const std::set<std::string> of_jobs = {"--resume",     "--dry-run",   "--plugin", "--partition",
                                         "--time-limit", "--exclusive", "--sbatch"};
  for (const std::string& name : parser.GivenOptions()) {
    if (of_jobs.contains(name)) continue;
    throw UsageError(
        of_scripts.contains(name)
            ? fmt::format("{}: with --resume the study keeps its batch scripts: leave it out, and "
                          "edit the scripts {}/job-*.sh",
                          name, OneLine(study))
            : fmt::format("{}: with --resume the study keeps its own: leave it out, or make "
                          "another study",
                          name));
  }
}

int Submit(const FleetCommand& options) {
  SweepOptions cases = options.cases;
  // `submit tensorflow` is the prepared study of that name.
  const std::vector<std::string> known = StudyNames();
  const std::string name =
      (std::filesystem::path(options.study) / "").parent_path().filename().string();
  if (!cases.GivesCases() && std::find(known.begin(), known.end(), name) != known.end()) {
    cases.study = name;
  }
  Fleet fleet = options.resume ? ReadFleet(options.study)
                               : MakeFleet(options.study, PlanOf(cases), options.request);
  if (options.resume) ChangeFleet(options.request, fleet);
  if (options.dry_run) {
    std::vector<Submission> submissions;
    if (options.resume) {
      submissions = SubmissionsOf(fleet);
    } else {  // (without asking Slurm, which a new study does not need for it)
      for (const NodeKind& kind : fleet.kinds) {
        submissions.push_back({.kind = kind, .sets = AllSets(fleet)});
      }
    }
    for (const Submission& one : submissions) {
      std::vector<std::string> words = JobArguments(fleet, one.kind, one.sets);
      words.insert(words.begin(), "sbatch");
      fmt::print("{}\n", JoinedWords(words));
    }
    return kExitGood;
  }
  std::vector<Submission> submissions;
  try {
    submissions = SubmitFleet(fleet);
  } catch (const PartlySubmitted&) {
    throw;
  } catch (const UsageError&) {
    if (!options.resume) RemoveFleet(fleet);
    throw;
  }
  for (const Submission& one : submissions) {
    fmt::print("job {}: {} on {}\n", one.job, CountText(std::ssize(one.sets), "task"),
               one.kind.name);
  }
  if (submissions.empty()) fmt::print("every task is complete, waits or runs\n");
  return kExitGood;
}

int ShowStatus(const FleetCommand& options) {
  const Fleet fleet = ReadFleet(options.study);
  const std::vector<FleetTask> tasks = TasksOf(fleet);
  PublishResult(
      options.json, [&] { return StatusJson(fleet, tasks); },
      [&](const Style& style) { return StatusText(tasks, style); });
  return kExitGood;
}

int Collect(const FleetCommand& options) {
  const Fleet fleet = ReadFleet(options.study);
  const auto folder =
      options.out.empty() ? fleet.folder / "machines" : std::filesystem::path(options.out);
  const Collection collection = CollectFleet(fleet, folder);
  std::string stored;
  if (!options.store.empty()) {
    const ResultStore store = ResultStore::OpenOrMake(options.store);
    stored = fmt::format("{} new results in {}\n", StoreCollection(fleet, collection, store),
                         OneLine(options.store));
  }
  std::optional<FleetComparison> comparison;
  if (!options.compare.empty()) comparison = CompareMachines(collection, options.compare);
  const auto json = [&] {
    nlohmann::ordered_json result = CollectionJson(fleet, collection);
    if (comparison) result["comparison"] = FleetComparisonJson(*comparison);
    return result;
  };
  PublishResult(options.json, json, [&](const Style& style) {
    std::string text = CollectionText(collection, style) + stored;
    if (comparison) text += "\n" + FleetComparisonText(*comparison, options.all, style);
    return text;
  });
  std::vector<const nlohmann::ordered_json*> indices;
  for (const CollectedMachine& machine : collection.machines) indices.push_back(&machine.index);
  const int status = ExitStatusOf(indices);
  return status == kExitNothing && collection.Partial() ? kExitGood : status;
}

int RunFleet(const CommandParser& parser, const FleetCommand& options) {
  CheckName("action", options.action, {"collect", "status", "submit"});
  CheckAction(parser, options);
  if (options.resume) CheckResume(parser, options.study);
  CheckOutputs({options.json}, {});
  if (options.action == "submit") return Submit(options);
  return options.action == "status" ? ShowStatus(options) : Collect(options);
}

std::function<int()> ConfigureFleet(CommandParser& parser) {
  auto options = std::make_shared<FleetCommand>();
  parser.Require("ACTION submit|status|collect", options->action,
                 "submit the jobs of a study, show how far they are, or collect what is finished");
  parser.Require("STUDY DIR", options->study,
                 "the folder of the study, on a file system that all nodes share");
  AddSweepOptions(parser, options->cases);
  FleetRequest& request = options->request;
  parser.Add("--constraint A,B", request.constraints,
             "features of nodes: each is a kind of node, which runs all cases");
  parser.Add("--nodes A,B", request.nodes, "names of nodes: each is a kind of its own");
  parser.Add("--partition NAME", request.partition, "Slurm's partition");
  parser.Add("--time-limit TIME", request.time_limit, "the longest time of a job, like 2h");
  parser.AddOptional("--exclusive", "yes", request.exclusive,
                     "a job has its node alone: yes, no or user (default: yes)");
  parser.Add("--sets N", request.sets,
             "jobs a kind, which share the cases (default: one a case, at most 16)",
             Range{1, 1000});
  parser.AddRepeated("--sbatch OPTION", request.sbatch,
                     "another option of sbatch, as --sbatch=--account=NAME; may be repeated");
  parser.Add("--template FILE", request.script,
             "a batch script with @COMMAND@ where the cases run (default: only that)");
  parser.Add("--program FILE", request.program, "topdnn on the nodes (default: this program)");
  parser.Add("--timeout TIME", request.timeout, "a case that takes longer is ended (default: 10m)");
  parser.AddFlag("--resume", options->resume,
                 "submit the tasks of the study again that ended without all of their cases");
  parser.AddFlag("--dry-run", options->dry_run,
                 "write the study, and print the commands without running them; with --resume, "
                 "only print them");
  parser.Add("--out DIR", options->out,
             "collect to this folder, a folder for each machine (default: STUDY/machines)");
  parser.Add("--store DIR", options->store,
             "also add the profiles to this store of `topdnn results`, each once");
  parser.Add("--compare MACHINE", options->compare,
             "the machines side by side: ratios to this machine, and shares of their ceilings");
  parser.AddFlag("--all", options->all, "compare the stages, too, not only the steps");
  parser.Add("--json FILE", options->json, "write status or collect to this file as JSON");
  return [options, &parser] { return RunFleet(parser, *options); };
}

const CommandRegistration kFleet({"fleet", Question::kScale,
                                  "a sweep on the nodes of a cluster, by Slurm", ConfigureFleet,
                                  "topdnn fleet submit study --networks cnn --batch 32,128 "
                                  "--constraint icelake,genoa"});

}  // namespace

}  // namespace topdnn
