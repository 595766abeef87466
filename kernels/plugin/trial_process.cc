#include "kernels/plugin/trial_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <system_error>

namespace topdnn {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostText = 65536;
// The steps of a trial together, with the reference's own computation.
constexpr double kStepsOfTrial = 8;
constexpr double kSecondsOfReference = 120;

// Reads until the end of the pipe or the deadline. False: the deadline.
bool ReadUntil(int pipe, Clock::time_point deadline, std::string& text) {
  std::array<char, 4096> part;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd readable = {pipe, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t n = read(pipe, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (text.size() < kMostText) text.append(part.data(), static_cast<std::size_t>(n));
  }
}

// In the trial's process.
// (noexcept: an exception must end the child; its caller's code belongs to the parent)
[[noreturn]] void Try(const std::string& trial, double most_seconds, int answer) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  // What the plug-in prints could be mixed with the program's own output.
  const int nothing = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  RunTrial(trial, most_seconds, answer);
  _exit(0);
}

std::string EndText(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("its process ends with signal {} ({})", WTERMSIG(status),
                       sigdescr_np(WTERMSIG(status)));
  }
  return fmt::format("it ends the process, with status {}", WEXITSTATUS(status));
}

// Starts a process for the trial and waits for its answer.
std::string AnswerOf(const std::string& trial, double most_seconds) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Try(trial, most_seconds, ends[1]);
  }
  close(ends[1]);
  TrialAnswer answer;
  if (child < 0) {
    close(ends[0]);
    answer = {TrialAnswer::Verdict::kRefused, "no process can be started to check it"};
    return AnswerText(answer);
  }
  std::string text;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                         kStepsOfTrial * most_seconds + kSecondsOfReference));
  const bool ended = ReadUntil(ends[0], deadline, text);
  close(ends[0]);
  // (the process may still run destructors after its answer, and processes that it started may run)
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!ended) return AnswerText({TrialAnswer::Verdict::kTimedOut, "it does not end"});
  if (ParseAnswer(text, answer)) return text;
  return AnswerText({TrialAnswer::Verdict::kFailed, EndText(status)});
}

// The loop of the process that starts the others.
[[noreturn]] void Serve(int connection, double most_seconds, pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  setpgid(0, 0);  // an interrupt from the terminal reaches the program alone
  std::string message(kMostText, '\0');
  for (;;) {
    const ssize_t n = recv(connection, message.data(), message.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(0);
    const std::string answer =
        AnswerOf(message.substr(0, static_cast<std::size_t>(n)), most_seconds);
    if (send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) _exit(0);
  }
}

}  // namespace

TrialProcess::TrialProcess(double most_seconds) : owner_(getpid()) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  std::fflush(nullptr);
  process_ = fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) {
    close(ends[0]);
    Serve(ends[1], most_seconds, owner_);
  }
  close(ends[1]);
  connection_ = ends[0];
}

TrialProcess::~TrialProcess() {
  if (getpid() != owner_) return;
  close(connection_);
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

TrialAnswer TrialProcess::Run(const std::string& trial) {
  if (getpid() != owner_) {
    return {TrialAnswer::Verdict::kRefused, "a forked process cannot check plug-ins"};
  }
  const std::lock_guard lock(mutex_);
  TrialAnswer answer{TrialAnswer::Verdict::kFailed, "the process that checks plug-ins has ended"};
  std::string text(kMostText, '\0');
  if (trial.size() > kMostText || send(connection_, trial.data(), trial.size(), MSG_NOSIGNAL) < 0) {
    return answer;
  }
  ssize_t n = 0;
  do {
    n = recv(connection_, text.data(), text.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n > 0) ParseAnswer(std::string_view(text).substr(0, static_cast<std::size_t>(n)), answer);
  return answer;
}

}  // namespace topdnn
