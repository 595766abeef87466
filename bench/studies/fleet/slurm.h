// Slurm, by its commands sbatch, squeue and sacct: there is no shell, and no output is cut at
// columns. (Their common options and formats are those of Slurm 20 and later.)

#ifndef TOPDNN_BENCH_STUDIES_FLEET_SLURM_H_
#define TOPDNN_BENCH_STUDIES_FLEET_SLURM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// What Slurm says about a task of a job array.
struct SlurmTask {
  std::string job_name{};
  std::int64_t job = 0;  // of the array
  int task = 0;          // its index in the array
  std::string state{};   // "PENDING", "RUNNING", "COMPLETED", "TIMEOUT", ...
  std::string nodes{};   // empty: none yet
  std::string reason{};  // of a task that waits, and of some that failed
};

// Whether a task in this state will run, or runs.
bool IsActive(std::string_view state);

// Throws UsageError, in one line with the fix, if Slurm is missing, does not answer, or would
// refuse a job with these arguments of sbatch.
void CheckJob(const std::vector<std::string>& arguments);
// Submits the job, and returns its number. Throws as CheckJob, but RunFailure if Slurm may have the
// job: its answer did not arrive.
std::int64_t SubmitJob(const std::vector<std::string>& arguments);

// The tasks of jobs with these names: the latest job of each name and task. Slurm forgets ended
// jobs after some minutes, unless it keeps accounts. `since`: the day of the first job, like
// "2026-11-23". Throws UsageError, in one line with the fix, if Slurm is missing or does not
// answer.
std::vector<SlurmTask> FindTasks(const std::vector<std::string>& job_names,
                                 const std::string& since);

// The task in a line of squeue or sacct, in the format that FindTasks asks for. Throws nothing:
// returns whether the line has one.
bool ReadQueueLine(std::string_view line, SlurmTask& task);
bool ReadAccountLine(std::string_view line, SlurmTask& task);

// One line with the fix, from what a command of Slurm printed.
std::string SlurmProblem(std::string_view command, std::string_view output);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_FLEET_SLURM_H_
