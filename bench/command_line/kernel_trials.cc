#include "bench/command_line/kernel_trials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "harness/machine/child_trial.h"
#include "harness/machine/cpu.h"
#include "harness/machine/machine.h"
#include "harness/text/nested_json.h"
#include "harness/text/one_line.h"
#include "kernels/check/fenced_memory.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/same_operands.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/plugin/plugins.h"

namespace topdnn {

namespace {

using SortedJson = nlohmann::json;

constexpr int kTrialsSchema = 1;
// oneDNN's vectors and cache lines; the program's own operands are aligned to them, too.
constexpr std::size_t kAlignment = 64;
// A slow kernel of a library; generated code reached over 1e9 everywhere.
constexpr double kSlowestFlops = 2e8;
// For a kernel that waits and takes no CPU time.
constexpr unsigned kWallSeconds = 300;

// Whose kernels are tried.
constexpr const char* kTried = "onednn";

// Kernels that failed in a later run of this command, for the program's next image: lines of
// backend, a space, key, a tab and reason.
constexpr const char* kLateFaults = "TOPDNN_LATE_FAULTS";
constexpr int kMostRestarts = 3;

// The answers of a child that are no fault.
constexpr const char* kGood = "good";
constexpr const char* kNoTrial = "none";

// Set by UseKnownTrialsOnly.
bool use_only_known = false;

// What a child found, in memory that both processes share.
class SharedText {
 public:
  // Throws std::bad_alloc.
  SharedText()
      : text_(static_cast<char*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (text_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedText() { munmap(text_, kBytes); }
  SharedText(const SharedText&) = delete;
  SharedText& operator=(const SharedText&) = delete;

  // For a signal handler, too.
  void Set(const char* text) const { std::strncpy(text_, text, kBytes - 1); }
  std::string Get() const { return text_; }

 private:
  static constexpr std::size_t kBytes = 4096;
  char* const text_;
};

// The text of the trial that runs in this child.
const SharedText* answer_of_child = nullptr;

void OnBadAccess(int signal, siginfo_t* info, void* /*context*/) {
  const char* const what = FencedMemory::WhatAccessMeans(info->si_addr);
  if (what != nullptr) answer_of_child->Set(what);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void LimitCpuTime(double seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(std::ceil(seconds));
  std::signal(SIGPROF, SIG_DFL);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

// What the kernel does wrong, or kGood. It runs once, on zeros: the values decide neither what a
// kernel reads nor what it writes, and the position zero in a workspace is valid.
std::string RunFenced(const KernelRequest& request, Kernel& kernel) {
  const ThreadWidth width(request.threads);
  std::map<Arg, FencedMemory> memory;
  std::map<Arg, void*> bound;
  const auto add = [&](Arg arg, std::size_t bytes) {
    const auto added = memory.try_emplace(arg, NameOf(arg), bytes, FencedPlace::kAtEnd, kAlignment);
    bound[arg] = added.first->second.data();
  };
  for (const KernelOperand& operand : kernel.operands()) {
    add(operand.arg, operand.desc.bytes());
  }
  if (kernel.run_scratch_bytes() > 0) add(Arg::kScratch, kernel.run_scratch_bytes());
  kernel.Prepare(bound);
  kernel.Run();
  for (const auto& [arg, fenced] : memory) {
    if (!fenced.Intact()) return fmt::format("writes outside of {}", NameOf(arg));
  }
  return kGood;
}

// In the child. A kernel that throws cannot harm the program, and throws there again.
bool Try(const KernelRequest& request, Kernel& kernel, double seconds, const SharedText& answer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDWR);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  answer_of_child = &answer;
  struct sigaction action = {};
  action.sa_sigaction = OnBadAccess;
  action.sa_flags = SA_SIGINFO;
  for (const int signal : {SIGSEGV, SIGBUS}) sigaction(signal, &action, nullptr);
  LimitCpuTime(seconds);
  std::string found = kNoTrial;
  // (OpenMP's threads do not exist in a fork; a new thread starts others)
  std::thread([&] {
    try {
      found = RunFenced(request, kernel);
    } catch (const std::exception&) {
    }
  }).join();
  answer.Set(found.c_str());
  return true;
}

// Ended from outside: by the user, or by the kernel when memory is short.
bool IsFromOutside(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGKILL || signal == SIGHUP;
}

// Whether every program that uses the library runs this kernel: in the layouts that the library
// chooses itself, or, for an operation that follows its operands, in row-major or blocked ones.
// (ResNet-50's training has 278 such kernels, whose trials took 7.5 s.)
bool IsUsual(std::string_view backend, const KernelRequest& request, const Kernel& kernel) {
  if (!request.algorithm.empty()) return false;
  KernelRequest free = request;
  free.layouts.clear();
  if (const auto workspace = request.layouts.find(Arg::kWorkspace);
      workspace != request.layouts.end()) {
    free.layouts.insert(*workspace);
  }
  if (free.layouts.size() == request.layouts.size()) return true;
  if (request.op->Traits().layout_policy == LayoutPolicy::kChooses) {
    const KernelOrRefusal own = MakeKernel(backend, free);
    const auto* const made = std::get_if<std::unique_ptr<Kernel>>(&own);
    return made != nullptr && SameOperands(kernel, **made) &&
           (*made)->implementation() == kernel.implementation();
  }
  return std::all_of(kernel.operands().begin(), kernel.operands().end(), [](const auto& operand) {
    const std::string& tag = operand.desc.layout.tag();
    return std::is_sorted(tag.begin(), tag.end()) ||
           std::any_of(tag.begin(), tag.end(),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
  });
}

// Code that is compiled with this program or with the library for any CPU, and slow.
bool IsPlainLoops(const Kernel& kernel) {
  const std::string& name = kernel.implementation();
  return name.ends_with("loops") || name.starts_with("ref") || name.starts_with("simple");
}

// A program with AddressSanitizer has answers of its own.
#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kBuild = " with AddressSanitizer";
#else
constexpr const char* kBuild = "";
#endif

std::string ThisMachine() {
  const Cpu cpu = IdentifyCpu();
  const dnnl_version_t* const version = dnnl_version();
  return fmt::format("{} {}/{}/{} {}; oneDNN {}.{}.{} {:x}{}", cpu.vendor, cpu.family, cpu.model,
                     cpu.stepping, cpu.hypervisor, version->major, version->minor, version->patch,
                     static_cast<unsigned>(dnnl::get_effective_cpu_isa()), kBuild);
}

// The file's content; empty if it is not such a file, which the next update replaces.
SortedJson Parse(const std::optional<std::string>& text) {
  SortedJson json = ParseForeignJson<SortedJson>(text.value_or(""));
  const bool known = json.is_object() &&
                     json.value("schema", SortedJson()) == SortedJson(kTrialsSchema) &&
                     json.value("machines", SortedJson()).is_object();
  return known ? json : SortedJson{{"schema", kTrialsSchema}, {"machines", SortedJson::object()}};
}

}  // namespace

std::optional<std::string> TryKernel(const KernelRequest& request, Kernel& kernel,
                                     double least_seconds) {
  const double seconds =
      (least_seconds +
       static_cast<double>(request.op->WorkIn(request.execution).flops) / kSlowestFlops) *
      request.threads;
  const SharedText answer;
  const TrialEnd end =
      RunInChild([&] { return Try(request, kernel, seconds, answer); }, kWallSeconds);
  const std::string text = answer.Get();
  if (end.error != 0 || IsFromOutside(end.signal) || text == kNoTrial) return std::nullopt;
  if (!text.empty()) return text == kGood ? "" : text;
  if (end.signal == SIGPROF)
    return fmt::format("did not end in {:.0f} s of CPU time", std::ceil(seconds));
  return end.signal == 0 ? "ended the process" : EndBySignal(end.signal);
}

KernelTrials::KernelTrials(CacheFolder cache, std::string machine)
    : cache_(std::move(cache)), machine_(std::move(machine)) {
  try {
    const SortedJson known =
        Parse(cache_.Read(kTrialsFile)).at("machines").value(machine_, SortedJson());
    if (!known.is_object()) return;
    good_ = known.value("good", good_);
    faults_ = known.value("faults", faults_);
  } catch (const SortedJson::exception&) {  // a damaged entry: the trials are made again
  }
}

KernelTrials::~KernelTrials() { Store(); }

void KernelTrials::Store() {
  if (!changed_) return;
  changed_ = false;
  cache_.Update(kTrialsFile, [&](const std::optional<std::string>& text) {
    SortedJson json = Parse(text);
    SortedJson& known = json["machines"][machine_];
    try {
      if (known.is_object()) good_.merge(known.value("good", std::set<std::string>()));
      if (known.is_object()) faults_.merge(known.value("faults", faults_));
    } catch (const SortedJson::exception&) {
    }
    known = {{"good", good_}, {"faults", faults_}};
    return json.dump(1) + "\n";
  });
}

std::string KernelTrials::KnownFault(std::string_view backend, const std::string& key) const {
  if (faults_.empty() && faults_here_.empty()) return "";
  if (const auto here = faults_here_.find(key); here != faults_here_.end()) return here->second;
  const auto known = backend == kTried ? faults_.find(key) : faults_.end();
  return known == faults_.end() ? "" : known->second;
}

void KernelTrials::AddFault(std::string_view backend, const std::string& key,
                            const std::string& reason, bool store) {
  if (backend != kTried || !store) {
    faults_here_[key] = reason;
    return;
  }
  changed_ = true;
  faults_[key] = reason;
  good_.erase(key);
  Store();
}

std::string KernelTrials::WhyNot(const KernelRequest& request, Kernel& kernel, bool only_known) {
  const std::string key = KernelKey(request, kernel);
  if (std::string known = KnownFault(kTried, key); !known.empty()) return known;
  if (good_.contains(key) || only_known) return "";
  const std::optional<std::string> fault = TryKernel(request, kernel);
  if (!fault) return "";
  if (fault->empty()) {
    changed_ = true;
    good_.insert(key);
    return "";
  }
  const std::string reason =
      fmt::format("oneDNN's {} {} in a trial", kernel.implementation(), *fault);
  // A library may abort without memory, which says nothing about the kernel.
  const bool limited = MemoryIsLimited();
  std::string why = reason + (limited ? ", with the program's memory limited" : "");
  AddFault(kTried, key, why, !limited);
  return why;
}

void UseKnownTrialsOnly() { use_only_known = true; }

namespace {

// Adds those of this command's earlier images. Returns whether any fault is known.
bool AddLateFaults(KernelTrials& trials) {
  const char* const text = std::getenv(kLateFaults);
  std::istringstream lines(text == nullptr ? "" : text);
  // Memory that is short, or a plug-in, can make any kernel crash.
  const bool store = !MemoryIsLimited() && Plugins().empty();
  std::string backend, key, reason;
  while (std::getline(std::getline(std::getline(lines, backend, ' '), key, '\t'), reason)) {
    trials.AddFault(backend, key, reason, store);
  }
  return trials.HasFaults();
}

// Runs the command again without the kernel.
int RestartWithout(const Unfinished& unfinished) {
  const char* const before = std::getenv(kLateFaults);
  std::string faults = before == nullptr ? "" : before;
  const std::optional<std::vector<std::string>> words = SplitWords(unfinished.words.at(0));
  const bool again = unfinished.status == kExitWrong && !unfinished.kernel.empty() && words &&
                     faults.find(unfinished.kernel) == std::string::npos &&
                     std::count(faults.begin(), faults.end(), '\n') < kMostRestarts;
  if (!again) return unfinished.status;
  const bool crashed = IsCrashLine(unfinished.line);
  faults += fmt::format("{}\tit {} in a later run\n", unfinished.kernel,
                        crashed ? "crashed" : "did not end");
  setenv(kLateFaults, faults.c_str(), /*overwrite=*/1);
  std::vector<char*> arguments;
  for (const std::string& word : *words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  fmt::print(stderr, "topdnn: starting again without this kernel\n");
  execv("/proc/self/exe", arguments.data());
  return unfinished.status;
}

const RescueRegistration kRestart("restart", RestartWithout);

}  // namespace

RestartAtSuddenEnd::RestartAtSuddenEnd() : restart_("restart", {CommandLine()}) {}

void TryKernelsOfLibraries() {
  static std::mutex mutex;
  static const pid_t owner = getpid();
  static std::set<std::string> reported;
  const auto why_not = [](std::string_view backend, const KernelRequest& request, Kernel& kernel) {
    if (getpid() != owner) return std::string();
    static KernelTrials trials(CacheFolder::OfUser(), ThisMachine());
    {
      const std::lock_guard lock(mutex);
      static const bool late = AddLateFaults(trials);
      std::string known = late ? trials.KnownFault(backend, KernelKey(request, kernel)) : "";
      if (!known.empty()) return known;
    }
    if (backend != kTried || IsPlainLoops(kernel) || IsUsual(backend, request, kernel)) {
      return std::string();
    }
    const std::lock_guard lock(mutex);
    return trials.WhyNot(request, kernel, use_only_known);
  };
  const auto report = [](const KernelRequest& request, const std::string& reason) {
    const std::string line =
        fmt::format("{} {} {} is not computed by this kernel: {}", request.op->kind(),
                    request.op->Problem(), NameOf(request.execution.pass), OneLine(reason));
    const std::lock_guard lock(mutex);
    if (reported.insert(line).second) fmt::print(stderr, "topdnn: {}\n", line);
  };
  SetKernelGate({why_not, report});
}

}  // namespace topdnn
