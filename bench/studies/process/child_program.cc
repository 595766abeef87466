#include "bench/studies/process/child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <thread>

#include "harness/measure/watched_run.h"

namespace topdnn {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCannotStart = 127;  // exit status of the shell for a command that it cannot start
// A wait adds at most this much to the child's time.
constexpr auto kPoll = std::chrono::milliseconds(5);

// Processes of this machine that the kernel ended for lack of memory; absent before Linux 4.13.
std::optional<std::int64_t> OutOfMemoryKills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return std::nullopt;
}

// Opened by the parent, so that a log that cannot be written is an error of the parent.
class Log {
 public:
  explicit Log(const std::string& path)
      : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  ~Log() { close(fd_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// In the child. The parent has one thread, so the environment may be changed here.
// (noexcept: an exception must end the child; its caller's code belongs to the parent)
[[noreturn]] void Start(const ChildProgram& program, int log, pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);  // the parent ended before the line above
  setpgid(0, 0);  // an interrupt from the terminal reaches the parent alone
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  for (const auto& [name, value] : program.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& argument : program.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execv(arguments.front(), arguments.data());
  fmt::print(stderr, "{}: cannot be started: {}\n", program.arguments.front(),
             std::generic_category().message(errno));
  std::fflush(stderr);
  _exit(kCannotStart);
}

}  // namespace

double CpuSecondsOf(const rusage& used) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::string ReasonInLog(const std::string& path) {
  std::ifstream file(path);
  std::string last, to_user;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
    if (line.starts_with("topdnn: ")) to_user = line;
  }
  return to_user.empty() ? last : to_user;
}

void KillChild(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);  // if it has not made its process group yet
}

pid_t StartChild(const ChildProgram& program) {
  const Log log(program.log);
  std::fflush(nullptr);  // otherwise the child would write it again
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) Start(program, log.fd(), parent);
  return child;
}

ChildOutcome RunChild(const ChildProgram& program) {
  const auto kills = OutOfMemoryKills();
  const auto begin = Clock::now();
  const pid_t child = StartChild(program);
  ChildOutcome outcome;
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) break;
    outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const bool cancelled = IsCancelled(program.cancel);
    if (outcome.end == ChildOutcome::End::kExited &&
        (cancelled || outcome.seconds >= program.most_seconds)) {
      outcome.end = cancelled ? ChildOutcome::End::kCancelled : ChildOutcome::End::kTimedOut;
      KillChild(child);
    }
    std::this_thread::sleep_for(kPoll);
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  outcome.last_line = ReasonInLog(program.log);
  if (outcome.end != ChildOutcome::End::kExited) return outcome;
  if (WIFSIGNALED(status)) {
    outcome.end = ChildOutcome::End::kSignalled;
    outcome.status = WTERMSIG(status);
    outcome.out_of_memory = outcome.status == SIGKILL && kills && OutOfMemoryKills() > kills;
  } else {
    outcome.status = WEXITSTATUS(status);
  }
  return outcome;
}

std::vector<std::pair<std::string, std::string>> EnvironmentOfIsa(const std::string& isa) {
  // oneDNN's names (its documentation, "CPU dispatcher control").
  static const std::map<std::string, std::string> names = {{"sse41", "SSE41"},
                                                           {"avx2", "AVX2"},
                                                           {"avx512", "AVX512_CORE"},
                                                           {"avx512_bf16", "AVX512_CORE_BF16"},
                                                           {"amx", "AVX512_CORE_AMX"}};
  const auto known = names.find(isa);
  if (known == names.end()) return {};
  return {{"DNNL_MAX_CPU_ISA", known->second}};
}

std::string OwnProgram() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

}  // namespace topdnn
