#include "bench/live/preloaded_program.h"

#include <elf.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "harness/text/one_line.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kPollMilliseconds = 20;
constexpr milliseconds kInterruptGrace{2000};

std::string LibraryPath(const std::string& option, const std::string& file) {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& path : {folder / file, folder.parent_path() / file}) {
    if (!std::filesystem::exists(path, ignored)) continue;
    if (path.string().find_first_of(": ") == std::string::npos) return path;
    throw UsageError(
        fmt::format("{}: the dynamic linker cannot load {}, because of the blank "
                    "or colon in its path; move the build folder",
                    option, path.string()));
  }
  throw UsageError(fmt::format("{}: {} is missing in {}; build the target topdnn again", option,
                               file, folder.string()));
}

// The program as execvp(3) finds it; empty if there is none.
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  for (const std::string_view folder : SplitText(path == nullptr ? "/usr/bin:/bin" : path, ":")) {
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    struct stat status;
    if (stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return {};
}

Variables OwnVariables() {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

struct ElfFile {
  bool is_elf = false;
  int machine = EM_NONE;
  bool is_dynamic = false;  // it names a dynamic linker
};

ElfFile ReadElf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return {};
  }
  ElfFile elf{.is_elf = true, .machine = header.e_machine};
  if (header.e_ident[EI_CLASS] != ELFCLASS64) elf.machine = EM_NONE;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  Elf64_Phdr segment;
  for (int i = 0; i < header.e_phnum; ++i) {
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) break;
    elf.is_dynamic = elf.is_dynamic || segment.p_type == PT_INTERP;
  }
  return elf;
}

// The interpreter of a script, "/usr/bin/python3"; empty for another file.
std::string InterpreterOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return {};
  const std::size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

bool GetsOtherRights(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid()) return true;
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

}  // namespace

std::string WhyNotPreloaded(const std::string& path) {
  constexpr int kMostInterpreters = 4;
  std::string program = path;
  for (int i = 0; i < kMostInterpreters; ++i) {
    // (a pipe or a device is no program, and might be read for ever)
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(program, ignored)) return {};
    const std::string interpreter = InterpreterOf(program);
    if (interpreter.empty()) break;
    program = interpreter;
  }
  const ElfFile elf = ReadElf(program);
  if (!elf.is_elf) return {};
  if (elf.machine != ReadElf("/proc/self/exe").machine) {
    return fmt::format("{} is a program of another architecture", program);
  }
  if (!elf.is_dynamic) return fmt::format("{} is a static program", program);
  if (GetsOtherRights(program)) {
    return fmt::format("{} gets other rights than yours (setuid, setgid or capabilities)", program);
  }
  return {};
}

ProgramMemory::ProgramMemory(const char* name, const char* what, std::size_t bytes)
    : bytes_(bytes), file_(memfd_create(name, MFD_CLOEXEC)) {
  void* mapped = MAP_FAILED;
  if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes_)) == 0) {
    mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  }
  if (mapped == MAP_FAILED) {
    const int error = errno;
    if (file_ >= 0) close(file_);
    throw std::system_error(error, std::generic_category(), what);
  }
  data_ = mapped;
}

ProgramMemory::~ProgramMemory() {
  munmap(data_, bytes_);
  close(file_);
}

std::string ProgramMemory::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_); }

PreloadedProgram::PreloadedProgram(std::string option, std::vector<std::string> arguments,
                                   const std::string& library, const std::string& instead)
    : option_(std::move(option)),
      arguments_(std::move(arguments)),
      library_(LibraryPath(option_, library)),
      variables_(OwnVariables()) {
  const std::string path = FindProgram(arguments_.front());
  if (const std::string reason = WhyNotPreloaded(path); !path.empty() && !reason.empty()) {
    throw UsageError(fmt::format("{}: {}, into which no library can be loaded{}{}", option_,
                                 OneLine(reason), instead.empty() ? "" : "; ", instead));
  }
  std::string& preload = variables_["LD_PRELOAD"];
  preload = preload.empty() ? library_ : library_ + ":" + preload;
}

void PreloadedProgram::Start(int output) {
  std::vector<char*> words;
  words.reserve(arguments_.size() + 1);
  for (const std::string& word : arguments_) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::vector<std::string> texts;
  texts.reserve(variables_.size());
  for (const auto& [name, value] : variables_) {
    texts.push_back(fmt::format("{}={}", name, value));
  }
  std::vector<char*> entries;
  entries.reserve(texts.size() + 1);
  for (std::string& text : texts) entries.push_back(text.data());
  entries.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGXFSZ}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  std::fflush(nullptr);
  const int error =
      posix_spawnp(&child_, words.front(), &actions, &attributes, words.data(), entries.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return;
  throw UsageError(fmt::format("{} {}: cannot be started ({}); check the name", option_,
                               OneLine(arguments_.front()), std::strerror(error)));
}

std::pair<int, rusage> PreloadedProgram::Wait(const std::function<void()>& each) {
  // (without pidfd_open, Linux before 5.3, poll ignores -1 and waits)
  const int file = static_cast<int>(syscall(SYS_pidfd_open, child_, 0));
  std::optional<Clock::time_point> interrupted;
  int status = 0;
  rusage used = {};
  for (int signal = SIGTERM;;) {
    pollfd ended{.fd = file, .events = POLLIN, .revents = 0};
    poll(&ended, 1, kPollMilliseconds);
    if (each) each();
    const pid_t waited = wait4(child_, &status, WNOHANG, &used);
    if (waited == child_ || (waited < 0 && errno != EINTR)) break;
    // Ctrl-C reaches the program as well: it gets the time to end by itself.
    if (!Interrupted()) continue;
    const Clock::time_point now = Clock::now();
    if (!interrupted) interrupted = now;
    if (now - *interrupted < kInterruptGrace) continue;
    kill(child_, std::exchange(signal, SIGKILL));
    interrupted = now - kInterruptGrace / 2;
  }
  if (file >= 0) close(file);
  return {status, used};
}

}  // namespace topdnn
