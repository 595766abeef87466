// Submits the jobs of a study to Slurm.

#ifndef TOPDNN_BENCH_STUDIES_FLEET_FLEET_SUBMISSION_H_
#define TOPDNN_BENCH_STUDIES_FLEET_FLEET_SUBMISSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/studies/fleet/fleet.h"

namespace topdnn {

struct FleetRequest {
  std::string partition{};            // this and the next: empty: Slurm's default
  std::string time_limit{};           // of each job, as "2h"
  std::string exclusive{};            // "yes", "no", "user"; empty: as before, at first "yes"
  std::string constraints{};          // "A,B": each is a kind of node
  std::string nodes{};                // "n1,n2": each is a kind of node
  int sets = 0;                       // 0: one case a set, at most 16 sets
  std::vector<std::string> sbatch{};  // other options of sbatch
  std::string script{};               // a template of the batch script; empty: the usual one
  std::string program{};              // topdnn on the nodes
  std::string timeout{};              // of a case; empty: 10m
};

// The kinds of node of a request. Throws UsageError for names that are not valid.
std::vector<NodeKind> KindsOf(const FleetRequest& request);

// Makes the folder of a new study: the sweeps of its tasks, and the batch scripts. Throws
// UsageError if it has a study or a file of that name, or a value is not valid.
Fleet MakeFleet(const std::string& study, const SweepPlan& plan, const FleetRequest& request);

// Adds the options of a request to those of a study. They replace options of the same name. Does
// not write the study's file: SubmitFleet does.
void ChangeFleet(const FleetRequest& request, Fleet& fleet);

// 1, 2, ..., Fleet::sets.
std::vector<int> AllSets(const Fleet& fleet);

// The arguments of sbatch for the sets of a kind.
std::vector<std::string> JobArguments(const Fleet& fleet, const NodeKind& kind,
                                      const std::vector<int>& sets);

struct Submission {
  NodeKind kind{};
  std::vector<int> sets{};
  std::int64_t job = 0;
};

// The tasks that are not complete and neither wait nor run, without jobs yet: one entry a kind.
std::vector<Submission> SubmissionsOf(const Fleet& fleet);

// A job was refused after another one was submitted.
class PartlySubmitted : public UsageError {
 public:
  using UsageError::UsageError;
};

// Submits what SubmissionsOf returns: one job array a kind. Only one process at a time submits.
// Slurm checks all jobs before the first is submitted. When it has accepted the first one, writes
// the study's file: the study keeps no option that Slurm refuses. Throws UsageError if no job was
// submitted, PartlySubmitted if one was, and RunFailure if Slurm may have a job without having said
// so.
std::vector<Submission> SubmitFleet(const Fleet& fleet);

// Removes the files of MakeFleet, of a study of which no job was submitted.
void RemoveFleet(const Fleet& fleet);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_FLEET_FLEET_SUBMISSION_H_
