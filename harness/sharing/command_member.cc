#include "harness/sharing/command_member.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

#include "harness/text/errors.h"

namespace topdnn {

namespace {

constexpr int kCannotStart = 127;  // the shell's exit status for a command that it cannot start

// The program's process group, for the handler below.
std::atomic<int>* program_group = nullptr;
static_assert(std::atomic<int>::is_always_lock_free,
              "a signal handler may only access lock-free atomics");

// The group's owner has ended: ends the program with everything that it has started.
void OnOrphaned(int) {
  const int group = *program_group;
  if (group > 0) kill(-group, SIGKILL);
  _exit(1);
}

// The last line of a file's last bytes.
std::string LastLine(int file) {
  constexpr std::size_t kMost = 2048;
  std::string text(kMost, '\0');
  const off_t size = lseek(file, 0, SEEK_END);
  const off_t from = std::max<off_t>(size - static_cast<off_t>(kMost), 0);
  const ssize_t got = pread(file, text.data(), kMost, from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

class CommandMember final : public Member {
 public:
  CommandMember(const std::string& command, const MemberPlace& place)
      : command_(command), errors_(memfd_create("errors", MFD_CLOEXEC)) {
    if (errors_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
    fcntl(errors_, F_SETFL, O_APPEND);
    program_group = place.program_group;
    struct sigaction action = {};
    action.sa_handler = OnOrphaned;
    sigaction(SIGTERM, &action, nullptr);
    const pid_t owner = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != owner) _exit(1);  // the owner ended before the line above
  }

  std::vector<MemberStage> stages() const override { return {{"command", "run"}}; }
  bool runs_here() const override { return false; }

  void Run(const Window& window, IterationLog& log) override {
    std::this_thread::sleep_until(window.begin);
    if (process_ != 0) kill(-process_, SIGCONT);
    while (GroupClock::now() < window.end) {
      if (process_ == 0) Start();
      if (!AwaitEnd(window.end)) break;
      const auto end = GroupClock::now();
      const double seconds = std::chrono::duration<double>(end - begin_).count();
      if (begin_ >= window.begin && end <= window.end) log.Add({&seconds, 1});
    }
    if (process_ != 0) kill(-process_, SIGSTOP);
  }

 private:
  void Start() {
    if (ftruncate(errors_, 0) != 0) {
      throw std::system_error(errno, std::generic_category(), "ftruncate");
    }
    begin_ = GroupClock::now();
    const pid_t self = getpid();
    const pid_t process = fork();
    if (process < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (process == 0) Execute(self);
    setpgid(process, process);  // (both processes do it: neither waits for the other)
    process_ = process;
    *program_group = process;
    process_fd_ = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (process_fd_ < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
  }

  [[noreturn]] void Execute(pid_t parent) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kCannotStart);
    setpgid(0, 0);
    std::signal(SIGTERM, SIG_DFL);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(errors_, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", command_.c_str(), nullptr);
    _exit(kCannotStart);
  }

  // Whether the program ends before `limit`. Throws if it fails.
  bool AwaitEnd(GroupClock::time_point limit) {
    const auto left = std::max(limit - GroupClock::now(), GroupClock::duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec wait = {
        seconds.count(),
        std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count()};
    pollfd ended = {process_fd_, POLLIN, 0};
    if (ppoll(&ended, 1, &wait, nullptr) <= 0) return false;
    int status = 0;
    waitpid(process_, &status, 0);
    kill(-process_, SIGKILL);  // what it has started and left behind
    close(process_fd_);
    process_ = 0;
    *program_group = 0;
    if (status != 0) ThrowFailed(status);
    return true;
  }

  [[noreturn]] void ThrowFailed(int status) const {
    std::string why =
        WIFSIGNALED(status) ? fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                                          strsignal(WTERMSIG(status)))
        : WEXITSTATUS(status) == kCannotStart
            ? "cannot be started: name a program of the PATH"
            : fmt::format("ended with status {}, and a run must end with 0", WEXITSTATUS(status));
    const std::string said = LastLine(errors_);
    if (!said.empty()) why += fmt::format(" (it said: {})", said);
    throw RunFailure(why);
  }

  std::string command_;
  int errors_;         // a file in memory for the standard error of the last run
  pid_t process_ = 0;  // 0: none runs; otherwise also its process group
  int process_fd_ = -1;
  GroupClock::time_point begin_;
};

}  // namespace

std::unique_ptr<Member> MakeCommandMember(const std::string& command, const MemberPlace& place) {
  return std::make_unique<CommandMember>(command, place);
}

}  // namespace topdnn
