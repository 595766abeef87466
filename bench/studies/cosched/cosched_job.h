// A job of a co-scheduling run: a process of `topdnn malleable` with its control socket. The
// process ends with this object, and with this program.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_JOB_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_JOB_H_

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/studies/malleable/control_client.h"
#include "harness/scheduling/trace.h"

namespace topdnn {

using CoschedClock = std::chrono::steady_clock;

// How to run jobs.
struct JobLaunch {
  // The program and its first arguments; those of `topdnn malleable` follow.
  std::vector<std::string> program;
  std::filesystem::path folder;
  std::vector<std::pair<std::string, std::string>> environment{};  // added to this process's
  // A job hangs if it ends no step, or answers no request, within this time.
  double most_seconds = 60;
};

// Threads of jobs sleep while they wait for each other, unless OMP_WAIT_POLICY is set. The default
// of libgomp is to spin: where jobs share a CPU, a thread then spins while the one that it waits
// for has no CPU, and a step takes up to ten times as long.
std::vector<std::pair<std::string, std::string>> JobEnvironment();

class JobProcess {
 public:
  // Starts the job. `name` is its name in the folder. Throws std::system_error.
  JobProcess(const TraceJob& job, int width, const std::string& name, const JobLaunch& launch);
  ~JobProcess();  // ends the process
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  // Reads replies and sends what is due: the width, the CPUs, a status request at least every 100
  // ms. Never waits.
  void Poll(CoschedClock::time_point now);

  // Applied by Poll as soon as the job can do it. CPUs are added before a job becomes wider, and
  // removed when it has become narrower.
  void SetWidth(int width) { width_ = width; }
  void SetCpus(std::vector<int> cpus);
  void Pause();   // SIGSTOP
  void Resume();  // SIGCONT
  void Stop() { client_.Stop(); }

  // Its last reply; absent before the first one. `answered` is when it arrived.
  const std::optional<ControlReply>& status() const { return status_; }
  CoschedClock::time_point answered() const { return answered_; }
  // Asks for the status in the next Poll.
  void AskNow() { asked_ = {}; }

  bool ended() const { return ended_; }
  // Why it has no result; empty if it has one or runs.
  const std::string& fault() const { return fault_; }
  double cpu_seconds() const { return cpu_seconds_; }  // once it has ended
  CoschedClock::time_point begin() const { return begin_; }
  CoschedClock::time_point end() const { return end_; }

  // To wait for; -1: none.
  int process_fd() const { return process_fd_; }
  int socket_fd() const { return client_.fd(); }
  // Whether Poll should be called soon, without an event.
  bool urgent() const;

 private:
  void Fail(const std::string& why);
  void Reap(bool wait);
  void ReadReplies(CoschedClock::time_point now);
  void SendRequests(CoschedClock::time_point now);
  void CheckProgress(CoschedClock::time_point now);
  void Pin();

  std::string log_;
  double most_seconds_;
  ControlClient client_;
  pid_t process_ = 0;
  int process_fd_ = -1;
  int width_, sent_width_;
  std::vector<int> cpus_, pinned_;
  std::optional<CoschedClock::time_point> narrowed_;  // when a narrower set of CPUs was asked for
  std::optional<ControlReply> status_;
  int outstanding_ = 0;  // requests without a reply
  int unasked_ = 0;      // replies without a request
  CoschedClock::time_point begin_, end_, answered_, asked_, progress_, first_outstanding_;
  bool ended_ = false, paused_ = false;
  std::string fault_;
  double cpu_seconds_ = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_JOB_H_
