#include "bench/studies/fleet/fleet.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/formats/whole_file.h"
#include "bench/studies/process/child_program.h"
#include "bench/studies/results/result_file.h"
#include "harness/files/atomic_file.h"
#include "harness/report/json.h"
#include "harness/text/nested_json.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostPlanBytes = std::size_t{1} << 24;

// How Slurm ended a job, whatever its log says.
struct KnownEnd {
  std::string_view state;
  std::string_view words;
};

constexpr KnownEnd kKnownEnds[] = {
    {"TIMEOUT",
     "its time limit ended it: `submit STUDY --resume --time-limit TIME` gives the rest more time"},
    {"DEADLINE", "its deadline ended it"},
    {"CANCELLED", "it was cancelled"},
    {"NODE_FAIL", "its node failed"},
    {"BOOT_FAIL", "its node did not start"},
    {"OUT_OF_MEMORY",
     "it needed more memory than Slurm gives it: `submit STUDY --resume --sbatch=--mem=0` gives it "
     "all of a node"},
};

// Why a task that has ended lacks cases.
std::string ProblemOf(const Fleet& fleet, const FleetTask& task) {
  const std::string name = Fleet::TaskName(task.kind, task.set);
  if (task.slurm.job == 0) return "Slurm does not know it (any more)";
  std::error_code none;
  const fs::path log = fleet.folder / (name + ".log");
  if (!fs::exists(log, none) && task.slurm.state == "FAILED") {
    return fmt::format(
        "node {} does not see the study's folder: put it on a file system that all "
        "nodes share",
        task.slurm.nodes);
  }
  for (const KnownEnd& known : kKnownEnds) {
    if (task.slurm.state == known.state) return std::string(known.words);
  }
  const std::string last = ReasonInLog(log.string());
  const std::string& said = last.empty() ? task.slurm.reason : last;
  return said.empty() ? "it ended early" : OneLine(said);
}

}  // namespace

SweepPlan Fleet::PlanOfSet(int set) const {
  SweepPlan part = plan;
  part.part = set;
  part.parts = sets;
  return part;
}

std::string Fleet::TaskName(const NodeKind& kind, int set) {
  return fmt::format("tasks/{}-{}", kind.name, set);
}

Json Fleet::RowsOf(const NodeKind& kind, int set) const {
  const std::string path = (folder / TaskName(kind, set)).string();
  ResultFile index = ReadResult(path);
  if (index.kind != ResultKind::kSweep || !index.json.at("cases").is_array()) {
    throw UsageError(
        fmt::format("{}: is not the index of a sweep: remove it, and submit again "
                    "with --resume",
                    (fs::path(path) / kSweepIndex).string()));
  }
  const SweepPlan part = PlanOfSet(set);
  std::map<std::string, Json> by_id;
  for (const Json& row : FinishedRows(part, index.json.at("cases"), path)) {
    by_id[TextAt(row, "id")] = row;
  }
  Json rows = Json::array();
  for (const SweepCase& one : CasesOf(part)) {
    const auto row = by_id.find(IdOf(one, part.settings));
    if (row != by_id.end()) rows.push_back(row->second);
  }
  return rows;
}

Fleet ReadFleet(const std::string& study) {
  const fs::path folder = fs::absolute(study).lexically_normal();
  const fs::path file = folder / kFleetFile;
  std::error_code none;
  if (!fs::exists(file, none)) {
    throw UsageError(fmt::format("{}: there is no {}: `topdnn fleet submit STUDY` makes it",
                                 OneLine(study), kFleetFile));
  }
  const Json json = ParseForeignJson<Json>(ReadWholeFile(file, kMostPlanBytes));
  try {
    if (json.at("schema") != kResultSchema) throw UsageError("");
    Fleet fleet{.folder = folder,
                .id = json.at("fleet").get<std::string>(),
                .submitted = json.at("submitted").get<std::string>(),
                .plan = PlanOf(json, file.string()),
                .sets = json.at("sets").get<int>(),
                .sbatch = json.at("sbatch").get<std::vector<std::string>>()};
    for (const Json& kind : json.at("kinds")) {
      fleet.kinds.push_back({.name = kind.at("name").get<std::string>(),
                             .constraint = kind.at("constraint").get<std::string>(),
                             .node = kind.at("node").get<std::string>()});
    }
    // These are parts of paths.
    bool good = fleet.sets >= 1 && FileName(fleet.id) == fleet.id && !fleet.kinds.empty();
    for (const NodeKind& kind : fleet.kinds) good = good && FileName(kind.name) == kind.name;
    if (good) return fleet;
  } catch (const Json::exception&) {
  } catch (const UsageError&) {
  }
  throw UsageError(fmt::format("{}: damaged, or of another version: give another folder",
                               OneLine(file.string())));
}

void WriteFleet(const Fleet& fleet) {
  Json json = NewIndex(fleet.plan);
  for (const char* key : {"part", "parts", "cases", "left_out"}) json.erase(key);
  json["fleet"] = fleet.id;
  json["submitted"] = fleet.submitted;
  json["sets"] = fleet.sets;
  json["sbatch"] = fleet.sbatch;
  json["kinds"] = Json::array();
  for (const NodeKind& kind : fleet.kinds) {
    json["kinds"].push_back(
        {{"name", kind.name}, {"constraint", kind.constraint}, {"node", kind.node}});
  }
  WriteFileAtomically((fleet.folder / kFleetFile).string(), JsonText(json));
}

std::vector<FleetTask> TasksOf(const Fleet& fleet) {
  std::vector<std::string> names;
  for (const NodeKind& kind : fleet.kinds) names.push_back(fleet.JobName(kind));
  std::map<std::pair<std::string, int>, SlurmTask> known;
  for (SlurmTask& task : FindTasks(names, fleet.submitted)) {
    known[{task.job_name, task.task}] = task;
  }
  std::vector<FleetTask> tasks;
  for (const NodeKind& kind : fleet.kinds) {
    for (int set = 1; set <= fleet.sets; ++set) {
      FleetTask task{.kind = kind, .set = set};
      task.slurm = known[{fleet.JobName(kind), set}];
      task.cases = CasesOf(fleet.PlanOfSet(set)).size();
      task.finished = fleet.RowsOf(kind, set).size();
      if (!task.Active() && !task.Complete()) task.problem = ProblemOf(fleet, task);
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

}  // namespace topdnn
