// A study on the machines of a cluster, in a folder that all of them share:
//
//   STUDY/fleet.json             which cases on which kinds of node, and the jobs
//   STUDY/job-KIND.sh            the batch script of a kind; an edited one is kept
//   STUDY/tasks/KIND-SET/        a sweep's folder: the cases of a set, run on a node of that kind
//   STUDY/tasks/KIND-SET.log     what its job printed
//
// Each kind is a job array, whose tasks are the sets of cases. A task is `topdnn sweep --resume` in
// its folder, so a task that runs again continues. The folders say what is finished; Slurm is only
// asked what still runs.

#ifndef TOPDNN_BENCH_STUDIES_FLEET_FLEET_H_
#define TOPDNN_BENCH_STUDIES_FLEET_FLEET_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/studies/fleet/slurm.h"
#include "bench/studies/sweep/sweep.h"

namespace topdnn {

// Nodes that are alike, as Slurm knows them.
struct NodeKind {
  std::string name{};        // in names of files
  std::string constraint{};  // a feature of the nodes; empty: any
  std::string node{};        // this node alone; empty: any
};

struct Fleet {
  std::filesystem::path folder{};  // absolute
  std::string id{};                // of the study, in the names of its jobs
  std::string submitted{};         // the day of the first submission: "2026-11-23"
  SweepPlan plan{};                // of all cases
  int sets = 1;                    // parts into which each kind's jobs divide the cases
  std::vector<NodeKind> kinds{};
  std::vector<std::string> sbatch{};  // options of all jobs

  std::string JobName(const NodeKind& kind) const { return "topdnn-" + id + "-" + kind.name; }
  // The plan of a set, from 1.
  SweepPlan PlanOfSet(int set) const;
  // "tasks/KIND-SET", relative to the folder.
  static std::string TaskName(const NodeKind& kind, int set);
  // The rows of a set that are finished.
  nlohmann::ordered_json RowsOf(const NodeKind& kind, int set) const;
};

// The name of the file in the study's folder.
inline constexpr const char* kFleetFile = "fleet.json";

// Reads STUDY/fleet.json. Throws UsageError, in one line, if there is none, or it is damaged.
Fleet ReadFleet(const std::string& study);
void WriteFleet(const Fleet& fleet);

// How far a task is.
struct FleetTask {
  NodeKind kind{};
  int set = 0;
  SlurmTask slurm{};  // job 0: Slurm does not know it (any more)
  std::size_t cases = 0;
  std::size_t finished = 0;
  std::string problem{};  // why it ended without all of its cases; empty: it did not

  bool Active() const { return IsActive(slurm.state); }
  bool Complete() const { return finished == cases; }
};

// All tasks: kind by kind, set by set. Asks Slurm.
std::vector<FleetTask> TasksOf(const Fleet& fleet);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_FLEET_FLEET_H_
