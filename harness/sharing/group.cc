#include "harness/sharing/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>
#include <system_error>
#include <thread>

#include "harness/machine/cpu_set.h"
#include "harness/machine/thread_cpus.h"
#include "harness/sharing/gate.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

// For the times of one member in one window: four million.
constexpr std::size_t kLogBytes = std::size_t{32} << 20;
constexpr std::size_t kMessageBytes = 1024;
// The owner polls at this interval, so it takes almost no time from the members.
constexpr std::chrono::milliseconds kPoll(2);

enum class Phase : int { kPreparing, kReady, kRefused, kFailed };

// Seconds that this thread was ready to run but had no CPU: the second number of schedstat, in
// nanoseconds (Linux, Documentation/scheduler/sched-stats.rst). Absent if the kernel has no such
// file.
std::optional<double> SecondsWithoutCpu() {
  std::ifstream file("/proc/thread-self/schedstat");
  double on_cpu = 0;
  double waited = 0;
  if (!(file >> on_cpu >> waited)) return std::nullopt;
  return waited * 1e-9;
}

// A copy that fits, with a zero at its end.
void SetText(std::string_view text, char* field) {
  const std::size_t length = std::min(text.size(), kMessageBytes - 1);
  std::memcpy(field, text.data(), length);
  field[length] = 0;
}

}  // namespace

// Each member has one, in separate cache lines.
struct alignas(128) Group::MemberBoard {
  std::atomic<Phase> phase = Phase::kPreparing;
  std::atomic<bool> active = false;             // in the turn that begins
  std::atomic<std::uint32_t> turn = 0;          // the last one that it has finished
  std::atomic<std::size_t> length = 0;          // of what it has written to its log
  std::atomic<std::size_t> message_length = 0;  // in the log, after the stages
  std::atomic<double> iteration_seconds = 0;
  std::atomic<double> waited_seconds = -1;  // in its last window; negative: not known
  std::atomic<int> program_group = 0;
  char message[kMessageBytes] = {};
};

struct alignas(128) Group::Board {
  Gate gate;
  Window window;  // of the turn that begins

  MemberBoard& of(std::size_t member) { return reinterpret_cast<MemberBoard*>(this + 1)[member]; }
};

Group::Group(std::vector<MemberPlan> plans, const GroupOptions& options)
    : plans_(std::move(plans)),
      options_(options),
      board_pages_(sizeof(Board) + plans_.size() * sizeof(MemberBoard)),
      log_pages_(plans_.size() * kLogBytes),
      board_(new (board_pages_.data()) Board),
      stages_(plans_.size()),
      messages_(plans_.size()) {
  for (std::size_t i = 0; i < plans_.size(); ++i) new (&board_->of(i)) MemberBoard;
  // Programs of a member that has ended become children of this process, which reaps them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::fflush(nullptr);  // otherwise the children would write buffered output again
  const pid_t owner = getpid();
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const pid_t process = fork();
    if (process == 0) RunMember(i, owner);
    if (process < 0) {
      const int error = errno;
      EndAll();
      throw std::system_error(error, std::generic_category(), "fork");
    }
    processes_.push_back(process);
  }
}

Group::~Group() { EndAll(); }

void Group::EndAll() {
  for (const pid_t process : processes_) {
    if (process == 0) continue;
    kill(-process, SIGKILL);
    kill(process, SIGKILL);  // if it has not made its process group yet
  }
  for (pid_t& process : processes_) {
    while (process != 0 && waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
    process = 0;
  }
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const int programs = board_->of(i).program_group;
    if (programs <= 0) continue;
    kill(-programs, SIGKILL);
    while (waitpid(-programs, nullptr, 0) > 0 || errno == EINTR) {
    }
  }
}

std::span<double> Group::MemoryOf(std::size_t member) const {
  auto* const bytes = static_cast<std::byte*>(log_pages_.data()) + member * kLogBytes;
  return {reinterpret_cast<double*>(bytes), kLogBytes / sizeof(double)};
}

void Group::RunMember(std::size_t member, pid_t owner) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != owner) _exit(1);  // the owner ended before the line above
  setpgid(0, 0);                     // an interrupt from the terminal reaches the owner alone
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  MemberBoard& own = board_->of(member);
  const auto fail = [&own](Phase phase, const char* why) {
    SetText(why, own.message);
    own.phase = phase;
    std::fflush(nullptr);
    _exit(1);
  };
  try {
    std::ofstream("/proc/self/oom_score_adj") << 1000;
    const ProcessOnCpus placed(plans_[member].cpus);
    if (!placed.failure().empty()) throw RunFailure(placed.failure());
    const auto work = plans_[member].make({plans_[member].cpus, &own.program_group});
    Serve(member, *work);
  } catch (const InputError& error) {
    fail(Phase::kRefused, error.what());
  } catch (const std::bad_alloc&) {
    fail(Phase::kFailed, "out of memory: use smaller workloads");
  } catch (const std::exception& error) {
    fail(Phase::kFailed, error.what());
  }
  _exit(1);
}

void Group::Serve(std::size_t member, Member& work) {
  MemberBoard& own = board_->of(member);
  const std::span<double> memory = MemoryOf(member);
  std::string text;
  for (const MemberStage& stage : work.stages()) text += stage.name + '\0' + stage.pass + '\0';
  const std::string message = work.message();
  if (text.size() + message.size() > kLogBytes) throw RunFailure("has too many stages");
  own.length = text.size();
  own.message_length = message.size();
  text += message;
  std::memcpy(memory.data(), text.data(), text.size());
  own.iteration_seconds = work.iteration_seconds();
  own.phase = Phase::kReady;
  for (std::uint32_t seen = 0;;) {
    board_->gate.AwaitAfter(seen);
    seen = board_->gate.turn();
    if (own.active) {
      IterationLog log(memory);
      const auto before = SecondsWithoutCpu();
      work.Run(board_->window, log);
      const auto after = SecondsWithoutCpu();
      own.waited_seconds = before && after && work.runs_here() ? *after - *before : -1;
      own.length = log.values();
    }
    own.turn = seen;
  }
}

double Group::iteration_seconds(std::size_t member) const {
  return board_->of(member).iteration_seconds;
}

void Group::ReadStages(std::size_t member) {
  const char* const text = reinterpret_cast<const char*>(MemoryOf(member).data());
  const std::size_t length = board_->of(member).length;
  messages_[member].assign(text + length, board_->of(member).message_length);
  std::istringstream lines(std::string(text, length));
  MemberStage stage;
  while (std::getline(lines, stage.name, '\0') && std::getline(lines, stage.pass, '\0')) {
    stages_[member].push_back(stage);
  }
}

void Group::ThrowEnded(std::size_t member, int status) const {
  const MemberBoard& own = board_->of(member);
  const Phase phase = own.phase;
  const std::string& name = plans_[member].name;
  if (phase == Phase::kRefused || phase == Phase::kFailed) {
    const std::string line = fmt::format("{}: {}", name, own.message);
    if (phase == Phase::kRefused) throw InputError(line);
    throw RunFailure(line);
  }
  const std::string end = WIFSIGNALED(status)
                              ? fmt::format("crashed with signal {} ({})", WTERMSIG(status),
                                            strsignal(WTERMSIG(status)))
                              : fmt::format("ended early with status {}", WEXITSTATUS(status));
  throw RunFailure(fmt::format("{}: its process {} {}", name, end,
                               phase == Phase::kPreparing ? "while it got ready"
                                                          : "between two iterations or "
                                                            "in one: run it by itself"));
}

void Group::CheckMembers() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    int status = 0;
    if (processes_[i] == 0 || waitpid(processes_[i], &status, WNOHANG) != processes_[i]) continue;
    processes_[i] = 0;
    // A service manager ends all processes of a service at once: then the member did not fail.
    if (!Cancelled()) ThrowEnded(i, status);
  }
}

// The kernel moves the threads of a CPU that goes offline to other CPUs.
void Group::CheckCpus() const {
  const CpuSet usable = AllowedCpus();
  const auto lacks = [](const std::vector<int>& cpus, int cpu) {
    return std::find(cpus.begin(), cpus.end(), cpu) == cpus.end();
  };
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const std::vector<int>& planned = plans_[i].cpus;
    const CpuSet own = AllowedCpus(
        [process = processes_[i]](std::size_t bytes, void* mask) {
          return sched_getaffinity(process, bytes, static_cast<cpu_set_t*>(mask)) == 0 ? 0 : errno;
        },
        0);
    const bool known = usable.doubt.empty() && own.doubt.empty() && processes_[i] != 0;
    if (planned.empty() || !known) continue;
    const bool gone = std::any_of(planned.begin(), planned.end(),
                                  [&](int cpu) { return lacks(usable.cpus, cpu); });
    const bool moved =
        std::any_of(own.cpus.begin(), own.cpus.end(), [&](int cpu) { return lacks(planned, cpu); });
    if (!gone && !moved) continue;
    throw RunFailure(
        fmt::format("{}: it lost its CPUs {} during a window (a CPU went offline, or another "
                    "program changed the CPUs): run it again on CPUs that stay",
                    plans_[i].name, fmt::join(planned, ",")));
  }
}

template <class Done>
bool Group::Await(const Done& done, GroupClock::time_point since, const char* what) {
  const auto limit = since + std::chrono::duration<double>(options_.most_seconds);
  for (;;) {
    CheckMembers();
    std::size_t waiting = plans_.size();
    for (std::size_t i = plans_.size(); i-- > 0;) {
      if (!done(board_->of(i))) waiting = i;
    }
    if (waiting == plans_.size()) return true;
    if (Cancelled()) return false;
    if (GroupClock::now() > limit) {
      throw RunFailure(fmt::format("{}: hangs: it {} within {:g} s", plans_[waiting].name, what,
                                   options_.most_seconds));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

bool Group::AwaitReady() {
  const auto ready = [](const MemberBoard& own) { return own.phase == Phase::kReady; };
  if (!Await(ready, GroupClock::now(), "does not get ready")) return false;
  for (std::size_t i = 0; i < plans_.size(); ++i) ReadStages(i);
  return true;
}

std::optional<std::vector<WindowSamples>> Group::RunWindow(const std::vector<bool>& active,
                                                           double seconds,
                                                           const WindowOptions& options) {
  const auto duration = [](double length) {
    return std::chrono::duration_cast<GroupClock::duration>(std::chrono::duration<double>(length));
  };
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    board_->of(i).active = active[i];
    board_->of(i).length = 0;
  }
  const auto length = duration(seconds);
  const auto begin = GroupClock::now() + duration(options.lead_seconds);
  board_->window = {begin, begin + length, options.setting};
  board_->gate.Open();
  while (GroupClock::now() < begin + length) {
    if (Cancelled()) return std::nullopt;
    CheckMembers();
    std::this_thread::sleep_until(
        std::min(begin + length, GroupClock::now() + std::chrono::milliseconds(50)));
  }
  const std::uint32_t turn = board_->gate.turn();
  const auto done = [turn](const MemberBoard& own) { return own.turn == turn; };
  if (!Await(done, begin + length, "does not end an iteration")) return std::nullopt;
  CheckCpus();
  std::vector<WindowSamples> samples(plans_.size());
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const std::span<double> written = MemoryOf(i).first(board_->of(i).length);
    samples[i] = {stages_[i].size(), {written.begin(), written.end()}, {}};
    const double waited = board_->of(i).waited_seconds;
    if (active[i] && waited >= 0) samples[i].waited = waited / seconds;
  }
  return samples;
}

}  // namespace topdnn
