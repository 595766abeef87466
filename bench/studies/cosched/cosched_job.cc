#include "bench/studies/cosched/cosched_job.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "bench/studies/process/child_program.h"
#include "harness/machine/thread_cpus.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

using std::chrono::milliseconds;

constexpr auto kStatusPeriod = milliseconds(100);
constexpr auto kUrgentPeriod = milliseconds(5);
// A job that has not become narrower within this time loses its CPUs all the same.
constexpr auto kNarrowingTime = milliseconds(500);
constexpr int kMostRepliesAtOnce = 32;
constexpr int kMostUnasked = 16;

double Seconds(CoschedClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::vector<std::string> ArgumentsOf(const TraceJob& job, int width, const std::string& base,
                                     const JobLaunch& launch) {
  std::vector<std::string> arguments = launch.program;
  const auto add = [&](const char* option, std::string value) {
    arguments.emplace_back(option);
    arguments.push_back(std::move(value));
  };
  arguments.push_back(job.network);
  arguments.push_back(job.training ? "--train" : "--infer");
  add("--batch", std::to_string(job.batch));
  add("--steps", std::to_string(job.steps));
  add("--width", std::to_string(width));
  add("--min-width", std::to_string(job.min_width));
  add("--max-width", std::to_string(job.max_width));
  add("--control", base + ".socket");
  add("--json", base + ".json");
  return arguments;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> JobEnvironment() {
  constexpr const char* kName = "OMP_WAIT_POLICY";
  if (std::getenv(kName) != nullptr) return {};
  return {{kName, "passive"}};
}

JobProcess::JobProcess(const TraceJob& job, int width, const std::string& name,
                       const JobLaunch& launch)
    : log_(launch.folder / (name + ".log")),
      most_seconds_(launch.most_seconds),
      client_(launch.folder / (name + ".socket")),
      width_(width),
      sent_width_(width) {
  ChildProgram program;
  program.arguments = ArgumentsOf(job, width, launch.folder / name, launch);
  program.environment = launch.environment;
  program.log = log_;
  begin_ = CoschedClock::now();
  progress_ = asked_ = answered_ = begin_;
  process_ = StartChild(program);
  process_fd_ = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
}

JobProcess::~JobProcess() {
  if (!ended_) {
    KillChild(process_);
    Reap(true);
  }
}

void JobProcess::Poll(CoschedClock::time_point now) {
  if (ended_) return;
  Reap(false);
  if (ended_) return;
  if (client_.Connect()) {
    ReadReplies(now);
    if (ended_) return;
    SendRequests(now);
  }
  CheckProgress(now);
}

void JobProcess::SetCpus(std::vector<int> cpus) {
  if (cpus == cpus_) return;
  cpus_ = std::move(cpus);
  narrowed_.reset();
  if (!pinned_.empty() && cpus_.size() < pinned_.size()) narrowed_ = CoschedClock::now();
}

void JobProcess::Pause() {
  paused_ = true;
  kill(process_, SIGSTOP);
}

void JobProcess::Resume() {
  kill(process_, SIGCONT);
  paused_ = false;
  progress_ = first_outstanding_ = CoschedClock::now();
}

bool JobProcess::urgent() const {
  return !ended_ && (!client_.connected() || cpus_ != pinned_ || width_ != sent_width_);
}

void JobProcess::Fail(const std::string& why) {
  KillChild(process_);
  Reap(true);
  fault_ = why;
}

void JobProcess::Reap(bool wait) {
  int status = 0;
  rusage usage = {};
  pid_t ended = 0;
  do {
    ended = wait4(process_, &status, wait ? 0 : WNOHANG, &usage);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return;
  end_ = CoschedClock::now();
  ended_ = true;
  kill(-process_, SIGKILL);  // what it has started and left behind
  client_.Close();
  unlink(client_.path().c_str());  // a job that was killed leaves it
  if (process_fd_ >= 0) close(process_fd_);
  process_fd_ = -1;
  cpu_seconds_ = CpuSecondsOf(usage);
  if (status == 0) return;
  fault_ = WIFSIGNALED(status) ? fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                                             strsignal(WTERMSIG(status)))
                               : fmt::format("ended with status {}", WEXITSTATUS(status));
  const std::string said = ReasonInLog(log_);
  if (!said.empty()) fault_ += fmt::format(" (it said: {})", OneLine(said));
}

void JobProcess::ReadReplies(CoschedClock::time_point now) {
  for (int i = 0; i < kMostRepliesAtOnce; ++i) {
    const auto packet = client_.Receive();
    if (!packet) return;
    if (packet->empty()) {  // its end is near, or it hangs
      client_.Close();
      outstanding_ = 0;
      sent_width_ = 0;  // sent again if it accepts another connection
      return;
    }
    const auto reply = ParseControlReply(*packet);
    if (!reply) return Fail("sent a reply that is not valid on its control socket");
    if (!reply->error.empty()) return Fail("refused a request: " + reply->error);
    if (outstanding_ > 0) {
      --outstanding_;
      first_outstanding_ = now;
    } else if (++unasked_ > kMostUnasked) {
      return Fail("floods its control socket with replies");
    }
    if (!status_ || reply->iterations > status_->iterations) progress_ = now;
    status_ = reply;
    answered_ = now;
  }
}

void JobProcess::SendRequests(CoschedClock::time_point now) {
  if (cpus_ != pinned_) {
    const bool narrow = status_ && status_->width <= static_cast<int>(cpus_.size());
    if (!narrowed_ || narrow || now - *narrowed_ > kNarrowingTime) Pin();
  }
  const auto sent = [&](bool done) {
    if (!done) return false;
    if (outstanding_++ == 0) first_outstanding_ = now;
    asked_ = now;
    return true;
  };
  if (width_ != sent_width_ && sent(client_.SetWidth(width_))) sent_width_ = width_;
  const auto period =
      urgent() || (status_ && status_->width != width_) ? kUrgentPeriod : kStatusPeriod;
  if (outstanding_ == 0 && now - asked_ >= period) sent(client_.AskStatus());
}

void JobProcess::CheckProgress(CoschedClock::time_point now) {
  if (paused_) return;
  // A job that does not answer shows no progress, either. Its start takes a part of the time: three
  // interpreters on two CPUs took 1.05 of 2 s before they listened.
  const double silent = outstanding_ > 0 ? Seconds(now - first_outstanding_) : 0;
  const bool hangs = Seconds(now - progress_) > most_seconds_;
  if (silent > most_seconds_ || (hangs && silent > most_seconds_ / 8)) {
    Fail(fmt::format("does not answer requests for {:.3g} s", most_seconds_));
  } else if (hangs) {
    Fail(fmt::format("hangs: no step ended for {:.3g} s", most_seconds_));
  }
}

void JobProcess::Pin() {
  if (!cpus_.empty()) BindProcess(process_, cpus_);
  pinned_ = cpus_;
  narrowed_.reset();
}

}  // namespace topdnn
