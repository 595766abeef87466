#include "bench/log/read/traced_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include "bench/command_line/command.h"
#include "harness/text/one_line.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

constexpr std::size_t kChunk = 65536;
// A line that is not complete after this time may be a prompt: it is written.
constexpr int kPromptMilliseconds = 100;

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "a pipe");
    }
  }
  ~Pipe() {
    CloseEnd(0);
    CloseEnd(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int end(std::size_t i) const { return ends_[i]; }
  void CloseEnd(std::size_t i) {
    if (ends_[i] >= 0) close(ends_[i]);
    ends_[i] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// oneDNN 3 reads the first of these variables that is not empty, and DNNL and MKL-DNN the others,
// as a number.
void SwitchOnLog() {
  constexpr const char* kLevels[] = {"ONEDNN_VERBOSE", "DNNL_VERBOSE", "MKLDNN_VERBOSE"};
  std::string level;
  for (const char* const name : kLevels) {
    const char* const value = std::getenv(name);
    if (level.empty() && value != nullptr) level = value;
  }
  level = WithExecutions(level);
  for (const char* const name : kLevels) setenv(name, level == "2" ? "2" : "1", 1);
  setenv(kLevels[0], level.c_str(), 1);
  for (const char* const name : {"ONEDNN_VERBOSE_TIMESTAMP", "DNNL_VERBOSE_TIMESTAMP"}) {
    setenv(name, "1", 1);
  }
}

// In the child. Writes the error of exec into `report`; an exec without error closes `report`.
// (noexcept: an exception must end the child; its caller's code belongs to the parent)
[[noreturn]] void Start(const std::vector<std::string>& arguments, int output, int report,
                        pid_t parent) noexcept {
  SwitchOnLog();
  // The program ends with topdnn, even if topdnn is killed.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  dup2(output, STDOUT_FILENO);
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  const int error = errno;
  static_cast<void>(!write(report, &error, sizeof(error)));
  _exit(127);
}

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // (the reader has gone)
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Whether the text may contain a line of oneDNN, or end with the beginning of one.
bool MayBeVerbose(std::string_view text) {
  if (text.find("nnl_verbose") != std::string_view::npos ||
      text.find("nednn_verbose") != std::string_view::npos) {
    return true;
  }
  for (const std::string_view marker : {"onednn_verbose,", "dnnl_verbose,"}) {
    for (std::size_t n = std::min(marker.size(), text.size()); n > 0; --n) {
      if (text.ends_with(marker.substr(0, n))) return true;
    }
  }
  return false;
}

// Gives all output of the program to the reader, and writes the lines that are not oneDNN's to the
// descriptor.
class Splitter {
 public:
  explicit Splitter(int output)
      : output_(output), reader_([this](std::string_view line) { WriteRest(line); }) {}

  void Add(std::string_view bytes) {
    for (;;) {
      const std::size_t newline = bytes.find('\n');
      if (newline == std::string_view::npos) break;
      EndLine(bytes.substr(0, newline + 1));
      bytes.remove_prefix(newline + 1);
    }
    reader_.Add(bytes);
    partial_ += bytes;
    if (partial_.size() > kMostLineBytes) Pass();
  }

  // No further byte came for a while.
  void Idle() {
    if (!MayBeVerbose(partial_)) Pass();
  }

  Trace Finish() {
    if (written_ + partial_.size() > kMostLineBytes) Pass();
    ended_ = true;
    return reader_.Finish();
  }

 private:
  // Writes the current line so far. The reader drops a line that is too long.
  void Pass() {
    WriteAll(output_, partial_);
    written_ += partial_.size();
    partial_.clear();
  }

  // `rest` ends with the newline.
  void EndLine(std::string_view rest) {
    const std::string_view last = rest.substr(0, rest.size() - 1);
    if (written_ + partial_.size() + last.size() > kMostLineBytes) {
      partial_ += last;
      Pass();
    }
    reader_.Add(rest);
    // The reader took the line as oneDNN's after a part of it was written, or the line is too long.
    if (written_ > 0) WriteAll(output_, "\n");
    written_ = 0;
    partial_.clear();
  }

  // The rest of a line whose beginning may be written already.
  void WriteRest(std::string_view line) {
    WriteAll(output_, line.substr(std::min(written_, line.size())));
    if (!ended_) WriteAll(output_, "\n");
    written_ = 0;
  }

  int output_;
  std::string partial_;      // the current line, without what is written
  std::size_t written_ = 0;  // bytes of the current line
  bool ended_ = false;
  TraceReader reader_;
};

void ReadAll(int from, Splitter& splitter) {
  std::array<char, kChunk> buffer;
  for (;;) {
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    const int events = poll(&ready, 1, kPromptMilliseconds);
    if (events == 0) {
      splitter.Idle();
      continue;
    }
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return;
    splitter.Add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::string WithExecutions(const std::string& level) {
  bool prints = false, erased = level.empty();
  for (const std::string_view word : SplitText(level, ",")) {
    const bool erases = word == "0" || word == "none";
    erased |= erases;
    prints = !erases && (prints || word == "1" || word == "2" || word == "-1" || word == "all" ||
                         word == "profile" || word == "profile_exec");
  }
  if (erased && !prints) return "1";
  return prints && level.find_first_of("12") == 0 ? level : "1," + level;
}

ProgramEnd ProgramEndOf(int waited) {
  if (WIFSIGNALED(waited)) {
    const int signal = WTERMSIG(waited);
    return {128 + signal, fmt::format("was ended by signal {}", signal)};
  }
  const int status = WEXITSTATUS(waited);
  return {status, status == 0 ? "" : fmt::format("ended with status {}", status)};
}

TracedCommand RunTraced(const std::vector<std::string>& arguments, int output) {
  Pipe log;
  Pipe report;
  std::fflush(nullptr);  // otherwise the child would write it again
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) Start(arguments, log.end(1), report.end(1), parent);
  log.CloseEnd(1);
  report.CloseEnd(1);
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(report.end(0), &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  if (got == sizeof(error)) {
    WaitFor(child);
    throw UsageError(fmt::format("--run {}: cannot be started ({}); check the name",
                                 OneLine(arguments.front()), std::strerror(error)));
  }
  // The reader of `output` may end before the program (`head`). The rest of the log is read all the
  // same: the files of the caller are written.
  auto* const on_broken_pipe = std::signal(SIGPIPE, SIG_IGN);
  Splitter splitter(output);
  ReadAll(log.end(0), splitter);
  const int status = WaitFor(child);
  TracedCommand traced = {ProgramEndOf(status), splitter.Finish()};
  std::signal(SIGPIPE, on_broken_pipe);
  return traced;
}

}  // namespace topdnn
