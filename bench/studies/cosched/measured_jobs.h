// Jobs of `topdnn cosched` that run at once while they are measured.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_MEASURED_JOBS_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_MEASURED_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/studies/cosched/cosched_job.h"
#include "bench/studies/cosched/cosched_measure.h"
#include "harness/scheduling/trace.h"

namespace topdnn {

double SecondsBetween(CoschedClock::time_point begin, CoschedClock::time_point end);

// "cnn train batch 64".
std::string KindText(const TraceJob& job);

// The functions poll the jobs while they wait. They throw RunFailure if a job ends or fails, and
// MeasureCancelled.
class MeasuredJobs {
 public:
  struct Reading {
    CoschedClock::time_point time;
    std::int64_t iterations = 0;
  };

  // Starts the jobs, of this width, on all CPUs of the settings.
  MeasuredJobs(std::vector<TraceJob> jobs, int width, const SpeedSettings& settings);

  JobProcess& operator[](std::size_t job) { return *processes_[job]; }
  std::size_t size() const { return jobs_.size(); }

  // Pauses the jobs that are not in the group.
  void RunOnly(const std::vector<std::size_t>& group);
  void Await(const std::function<bool()>& done);
  void Sleep(double seconds);
  // Until the first step of job 0 ends: seconds since its process began.
  double AwaitFirstStep();
  // A reply that the job sends from now on.
  Reading Read(std::size_t job);
  // The moment at which a step ends.
  Reading StepEnd(std::size_t job);
  // Until the job has this width, and a step has ended.
  void AwaitWidth(std::size_t job, int width);
  // The mean time of the steps in a window.
  double StepSeconds(std::size_t job, double window);
  // Ends job 0: seconds from the start of its last step to the end of its process.
  double EndSeconds();
  // Ends all jobs: their CPU seconds. No job may be paused.
  double EndAll();

 private:
  void AwaitEnd(std::size_t job);

  std::vector<TraceJob> jobs_;
  const SpeedSettings& settings_;
  std::vector<std::unique_ptr<JobProcess>> processes_;
};

// The caller's flag was set.
struct MeasureCancelled {};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_MEASURED_JOBS_H_
