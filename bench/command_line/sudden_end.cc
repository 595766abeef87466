#include "bench/command_line/sudden_end.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <new>

#include "bench/command_line/command.h"
#include "harness/files/atomic_file.h"
#include "harness/measure/watched_run.h"

namespace topdnn {

namespace {

constexpr std::string_view kRescueWord = "--finish-after-a-sudden-end";
constexpr std::string_view kCrashed = " crashed (SIG";

pid_t crash_owner = 0;  // the process whose crashes are caught
std::atomic_flag is_ending;
std::atomic<pid_t> ending_thread;

// A text of fixed size, for a signal handler.
class HandlerText {
 public:
  void Add(std::string_view part) {
    for (const char c : part.substr(0, text_.size() - 2 - size_)) {
      const bool printable = static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
      text_[size_++] = printable ? c : '?';
    }
  }
  void Write() {
    text_[size_] = '\n';
    if (write(STDERR_FILENO, text_.data(), size_ + 1) < 0) size_ = 0;
    text_[size_] = '\0';
  }
  char* c_str() { return text_.data(); }

 private:
  std::array<char, 1024> text_{};
  std::size_t size_ = 0;
};

HandlerText last_line, last_kernel;
std::array<char, 8> status_word;
// The words of the new image: its name, kRescueWord, the rescue's name, the status, the line, the
// kernel, and those of the scope.
std::vector<char*> rescue_words;
constexpr int kOwnWords = 6;
std::atomic<bool> has_rescue = false;

std::map<std::string, int (*)(const Unfinished&)>& Rescues() {
  static std::map<std::string, int (*)(const Unfinished&)> rescues;
  return rescues;
}

void StartRescue(int status) {
  if (!has_rescue.exchange(false)) return;
  *std::to_chars(status_word.begin(), status_word.end() - 1, status).ptr = '\0';
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv("/proc/self/exe", rescue_words.data());
}

void OnCrash(int signal, siginfo_t* info, void* /*context*/) {
  std::signal(signal, SIG_DFL);
  const bool from_outside = info->si_code == SI_USER && info->si_pid != getpid();
  if (getpid() != crash_owner || from_outside) {
    raise(signal);  // (delivered when this handler returns)
    return;
  }
  std::array<char, 64> what{};
  char* end = what.data();
  for (const char* part : {"crashed (SIG", sigabbrev_np(signal), ")"}) end = stpcpy(end, part);
  EndSuddenly(kExitWrong, what.data());
}

// An exception that no one catches: in a thread, or in code that must not throw. In a forked
// process its parent says it, as for a crash.
[[noreturn]] void OnTerminate() {
  if (getpid() != crash_owner) std::abort();
  std::array<char, 512> what{};
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    EndSuddenly(kExitWrong, "ran out of memory: use a smaller --batch, or raise the limits");
  } catch (const std::exception& error) {
    std::snprintf(what.data(), what.size(), "failed: %s", error.what());
    EndSuddenly(kExitWrong, what.data());
  }
  std::abort();
}

}  // namespace

void EndSuddenly(int status, const char* what) noexcept {
  while (is_ending.test_and_set()) {
    if (ending_thread == gettid()) _exit(status);  // it crashed again
    pause();                                       // another thread ends the process
  }
  ending_thread = gettid();
  const std::string_view now = WatchedRun::Now();
  last_line.Add("topdnn: ");
  last_line.Add(now.empty() ? "the program" : now);
  last_line.Add(" ");
  last_line.Add(what);
  last_line.Write();
  const TimedStage* const stage = WatchedRun::StageNow();
  if (stage != nullptr) last_kernel.Add(stage->kernel);
  RemoveTemporaryFiles();
  StartRescue(status);
  _exit(status);
}

void CatchCrashes() {
  crash_owner = getpid();
  std::set_terminate(OnTerminate);
  struct sigaction crash = {};
  crash.sa_sigaction = OnCrash;
  crash.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    sigaction(signal, &crash, nullptr);
  }
}

bool IsCrashLine(std::string_view line) { return line.find(kCrashed) != std::string_view::npos; }

RescueRegistration::RescueRegistration(const std::string& name, int (*rescue)(const Unfinished&)) {
  Rescues()[name] = rescue;
}

AtSuddenEnd::AtSuddenEnd(const std::string& rescue, const std::vector<std::string>& words) {
  static std::vector<std::string> kept;
  kept = {"topdnn", std::string(kRescueWord), rescue};
  kept.insert(kept.end(), words.begin(), words.end());
  rescue_words.clear();
  for (std::string& word : kept) rescue_words.push_back(word.data());
  rescue_words.push_back(nullptr);
  rescue_words.insert(rescue_words.begin() + 3,
                      {status_word.data(), last_line.c_str(), last_kernel.c_str()});
  has_rescue = true;
}

AtSuddenEnd::~AtSuddenEnd() { has_rescue = false; }

bool IsRescue(int argc, char** argv, int& status) {
  if (argc < kOwnWords || argv[1] != kRescueWord || !Rescues().contains(argv[2])) return false;
  status =
      Rescues()[argv[2]]({{argv + kOwnWords, argv + argc}, std::atoi(argv[3]), argv[4], argv[5]});
  return true;
}

namespace {

constexpr int kMostPolls = 4;  // without a new iteration
constexpr int kMostTimes = 20;

struct Watched {
  timer_t timer = {};
  bool started = false;
  bool warm = false;             // an iteration has ended
  std::uint64_t iterations = 0;  // at the last poll
  std::uint64_t first = 0;       // at the beginning
  int polls = 0;                 // since `iterations` changed
  int most_polls = 0;            // of an iteration that ended
};
Watched hang;

int HangSignal() { return SIGRTMIN + 4; }

// (the kernel sends one signal for a time in which the process was stopped, so that time is left
// out)
void OnPoll(int /*signal*/) {
  const std::uint64_t now = WatchedIterations();
  if (now != hang.iterations) {
    hang.most_polls = std::max(hang.most_polls, hang.polls);
    hang.warm = hang.warm || now - hang.first > 1;
    hang.iterations = now;
    hang.polls = 0;
    return;
  }
  if (WatchedRun::StageNow() == nullptr) return;
  ++hang.polls;
  if (!hang.warm || hang.polls < std::max(kMostPolls, kMostTimes * hang.most_polls)) return;
  EndSuddenly(kExitWrong, "hangs: it takes over 10 s, and over 20 times as long as before");
}

}  // namespace

HangWatch::HangWatch(bool warm, int poll_milliseconds) {
  struct sigaction action = {};
  action.sa_handler = OnPoll;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(HangSignal(), &action, nullptr);
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = HangSignal();
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  hang = {};
  hang.warm = warm;
  hang.first = hang.iterations = WatchedIterations();
  hang.started = timer_create(CLOCK_MONOTONIC, &event, &hang.timer) == 0;
  if (!hang.started) return;
  itimerspec every = {};
  every.it_value.tv_sec = poll_milliseconds / 1000;
  every.it_value.tv_nsec = poll_milliseconds % 1000 * 1'000'000L;
  every.it_interval = every.it_value;
  timer_settime(hang.timer, 0, &every, nullptr);
}

HangWatch::~HangWatch() {
  if (hang.started) timer_delete(hang.timer);
  hang.started = false;
}

}  // namespace topdnn
