#include "bench/workload/thread_team.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "bench/command_line/command.h"

namespace topdnn {

namespace {

constexpr unsigned kMaxSeconds = 20;  // a team that has not started by then is not judged
constexpr int kFewer = 3;             // exit status of a trial whose team was smaller

// In the child: passes on libgomp's message, and exits.
[[noreturn]] void StartTeam(int threads, int words) {
  alarm(kMaxSeconds);
  dup2(words, STDERR_FILENO);
  std::atomic<int> started = 0;
#pragma omp parallel num_threads(threads)
  ++started;
  _exit(started == threads ? 0 : kFewer);
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 512> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

[[noreturn]] void Refuse(int threads, const std::string& why) {
  throw UsageError(
      fmt::format("{} threads: {}; take fewer --threads, or raise the limit: ulimit -u, -v, the "
                  "control group's pids.max, OMP_STACKSIZE, OMP_THREAD_LIMIT, GOMP_CPU_AFFINITY",
                  threads, why));
}

// The last line of libgomp's message, without its name.
std::string Cause(std::string words) {
  while (words.ends_with('\n')) words.pop_back();
  words.erase(0, words.rfind('\n') + 1);
  constexpr std::string_view kName = "libgomp: ";
  if (words.starts_with(kName)) words.erase(0, kName.size());
  return words.empty() ? "the OpenMP runtime cannot start them" : words;
}

void Try(int threads) {
  std::array<int, 2> words{};
  if (pipe(words.data()) != 0) return;  // (no trial is possible, but the team may still start)
  std::fflush(nullptr);                 // otherwise the child would write it again
  const pid_t child = fork();
  if (child == 0) StartTeam(threads, words[1]);
  close(words[1]);
  const std::string said = child > 0 ? ReadAll(words[0]) : "";
  close(words[0]);
  if (child < 0) Refuse(threads, "no process can be started to try them");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) return;
  Refuse(threads, WEXITSTATUS(status) == kFewer ? "the OpenMP runtime starts fewer" : Cause(said));
}

}  // namespace

void CheckTeam(int threads) {
  static std::atomic<bool> tried = false;
  if (threads < 2 || tried.exchange(true)) return;
  Try(threads);
}

}  // namespace topdnn
