#include "kernels/plugin/trial.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/check/fenced_memory.h"
#include "kernels/check/kernel_problem.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/op/problem.h"
#include "kernels/plugin/library.h"
#include "kernels/plugin/plugin_kernel.h"

namespace topdnn {

namespace {

using Verdict = TrialAnswer::Verdict;

// An answer as text: the letter of its verdict, its text, and a last character.
constexpr std::string_view kLetters = "grft";
constexpr char kEnd = '\4';

// What the plug-in is doing, for the signal handlers.
struct Progress {
  int answer = -1;
  const char* volatile step = "";
  std::atomic_flag answered;
};
Progress progress;

// For a signal handler: no allocation, no lock.
void WriteText(const char* text) {
  if (write(progress.answer, text, std::strlen(text)) < 0) _exit(1);
}

// The verdict's letter (AnswerText), what the plug-in was doing, and what happened.
[[noreturn]] void AnswerFromHandler(char verdict, const char* text) {
  while (progress.answered.test_and_set()) pause();  // another thread answers, and ends the process
  const char first[] = {verdict, '\0'};
  const char last[] = {kEnd, '\0'};
  for (const char* part : {first, static_cast<const char*>(progress.step), " ", text, last}) {
    WriteText(part);
  }
  _exit(0);
}

const char* CrashText(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "crashes (SIGSEGV, an invalid memory access)";
    case SIGBUS:
      return "crashes (SIGBUS, an invalid memory access)";
    case SIGILL:
      return "crashes (SIGILL, an instruction that this CPU lacks)";
    case SIGFPE:
      return "crashes (SIGFPE, a division by zero)";
    default:
      return "crashes (SIGABRT)";
  }
}

void OnCrash(int signal, siginfo_t* info, void* /*context*/) {
  const char* const what =
      signal == SIGSEGV ? FencedMemory::WhatAccessMeans(info->si_addr) : nullptr;
  AnswerFromHandler('f', what != nullptr ? what : CrashText(signal));
}

void OnTimeout(int /*signal*/) { AnswerFromHandler('t', "does not end"); }

void InstallHandlers() {
  static std::array<std::byte, 65536> stack;
  stack_t alternative = {};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  struct sigaction crash = {};
  crash.sa_sigaction = OnCrash;
  crash.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    sigaction(signal, &crash, nullptr);
  }
  struct sigaction timeout = {};
  timeout.sa_handler = OnTimeout;
  timeout.sa_flags = SA_ONSTACK;
  sigaction(SIGALRM, &timeout, nullptr);
}

// Limits the time of the plug-in's code in a scope.
class PluginStep {
 public:
  PluginStep(const char* name, double most_seconds) {
    progress.step = name;
    Set(most_seconds);
  }
  ~PluginStep() {
    Set(0);
    progress.step = "its check";
  }
  PluginStep(const PluginStep&) = delete;
  PluginStep& operator=(const PluginStep&) = delete;

 private:
  static void Set(double seconds) {
    itimerval timer = {};
    timer.it_value.tv_sec = static_cast<time_t>(seconds);
    timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

std::string LayoutsText(const Kernel& kernel) {
  std::string text;
  for (const KernelOperand& operand : kernel.operands()) text += operand.desc.layout.tag() + " ";
  return text;
}

// The refusal, or the kernel.
std::variant<std::unique_ptr<PluginKernel>, Refusal> Create(const PluginLibrary& plugin,
                                                            const KernelRequest& request,
                                                            double most_seconds) {
  const PluginStep step("create", most_seconds);
  return PluginKernel::Make(plugin, request);
}

// A kernel with fenced memory for its operands.
class FencedRun {
 public:
  FencedRun(PluginKernel& kernel, const Values& values, FencedPlace place)
      : kernel_(kernel), values_(values) {
    for (const KernelOperand& operand : kernel.operands()) {
      memory_.try_emplace(operand.arg, NameOf(operand.arg), operand.desc.bytes(), place)
          .first->second.Poison();
    }
  }

  // Copies the workspace that forward wrote.
  void TakeWorkspace(const FencedRun& forward) {
    const FencedMemory& from = forward.memory_.at(Arg::kWorkspace);
    const FencedMemory& to = memory_.at(Arg::kWorkspace);
    if (from.bytes() != to.bytes()) {
      throw KernelFailed("create gives the workspace another size in backward than in forward");
    }
    std::memcpy(to.data(), from.data(), from.bytes());
  }

  void Prepare(double most_seconds) {
    Fill();
    for (const KernelOperand& operand : kernel_.operands()) {
      if (operand.direction == Direction::kIn) memory_.at(operand.arg).Protect();
    }
    const PluginStep step("prepare", most_seconds);
    kernel_.Prepare(Bound());
  }

  void Run(double most_seconds) {
    Fill();
    {
      const PluginStep step("load", most_seconds);
      if (const char* why = kernel_.LoadIfDue(); why != nullptr) {
        throw KernelFailed(fmt::format("load fails: {}", TextOf(why)));
      }
    }
    {
      const PluginStep step("run", most_seconds);
      kernel_.Run();
    }
    if (const std::string failure = TakeRunFailure(); !failure.empty()) throw KernelFailed(failure);
    for (const KernelOperand& operand : kernel_.operands()) {
      if (memory_.at(operand.arg).Intact()) continue;
      throw KernelFailed(fmt::format("run writes outside of {}", NameOf(operand.arg)));
    }
  }

  std::map<Arg, void*> Bound() const {
    std::map<Arg, void*> bound;
    for (const auto& [arg, memory] : memory_) bound[arg] = memory.data();
    return bound;
  }

 private:
  // Inputs once, because they are protected afterwards; results before every run.
  void Fill() {
    for (const KernelOperand& operand : kernel_.operands()) {
      const auto found = values_.find(operand.arg);
      const FencedMemory& memory = memory_.at(operand.arg);
      if (operand.direction == Direction::kOut) {
        memory.Poison();
      } else if (found != values_.end() && (operand.direction == Direction::kInOut || !filled_)) {
        std::memset(memory.data(), 0, memory.bytes());  // the padding, too
        FromDouble(found->second, operand.desc, memory.data());
      }
    }
    filled_ = true;
  }

  PluginKernel& kernel_;
  const Values& values_;
  std::map<Arg, FencedMemory> memory_;
  bool filled_ = false;
};

// Whether the padding inside the blocks of a layout is zero.
bool HasZeroPadding(const TensorDesc& desc, const void* data) {
  const std::size_t bytes = desc.bytes();
  const auto elements = static_cast<std::size_t>(desc.shape.elements());
  if (bytes == elements * SizeOf(desc.type)) return true;
  const Tensor copy(Shape{static_cast<std::int64_t>(bytes / SizeOf(desc.type))}, desc.type);
  std::memcpy(copy.data(), data, bytes);
  FromDouble(std::vector<double>(elements, 0.0), desc, copy.data());
  const std::vector<double> rest = ToDouble(copy.desc(), copy.data());
  return std::all_of(rest.begin(), rest.end(), [](double value) { return value == 0; });
}

// Throws KernelFailed when a result contains what Poison wrote, or another value that is not
// finite and that the reference does not have there.
void RequireNumbers(const KernelProblem& problem, const PluginKernel& kernel,
                    const std::map<Arg, void*>& memory) {
  for (const KernelOperand& operand : kernel.operands()) {
    if (operand.direction == Direction::kIn || operand.arg == Arg::kWorkspace) continue;
    std::vector<double> values = ToDouble(operand.desc, memory.at(operand.arg));
    for (const KernelProblem::Expected& expected : problem.expected()) {
      if (expected.arg != operand.arg) continue;
      for (std::size_t i = 0; i < expected.elements.size(); ++i) {
        if (std::isfinite(expected.values[i])) continue;
        values[static_cast<std::size_t>(expected.elements[i])] = 0;  // the comparison judges it
      }
    }
    const auto wrong = std::count_if(values.begin(), values.end(),
                                     [](double value) { return !std::isfinite(value); });
    if (wrong > 0) {
      throw KernelFailed(fmt::format("run leaves {} of {} elements of {} unwritten or not finite",
                                     wrong, values.size(), NameOf(operand.arg)));
    }
    if (!HasZeroPadding(operand.desc, memory.at(operand.arg))) {
      throw KernelFailed(
          fmt::format("run leaves values in the padding of {}, layout {}: write zeros there",
                      NameOf(operand.arg), operand.desc.layout.tag()));
    }
  }
}

class Check {
 public:
  Check(const PluginLibrary& plugin, KernelRequest request, double most_seconds)
      : plugin_(plugin),
        request_(std::move(request)),
        most_seconds_(most_seconds),
        problem_(request_.op, request_.execution) {}

  TrialAnswer Answer() {
    if (problem_.ReadsWorkspace()) {
      KernelRequest asked = request_;
      asked.execution = ForwardOf(request_.execution);
      asked.layouts = {{Arg::kSrc, request_.LayoutOf(Arg::kDiffSrc)},
                       {Arg::kDst, request_.LayoutOf(Arg::kDiffDst)},
                       {Arg::kWorkspace, request_.LayoutOf(Arg::kWorkspace)}};
      auto made = Create(plugin_, asked, most_seconds_);
      if (auto* refusal = std::get_if<Refusal>(&made)) {
        return {Verdict::kRefused, refusal->reason + " (forward)"};
      }
      forward_ = std::get<std::unique_ptr<PluginKernel>>(std::move(made));
    }
    auto made = Create(plugin_, request_, most_seconds_);
    if (auto* refusal = std::get_if<Refusal>(&made)) return {Verdict::kRefused, refusal->reason};
    kernel_ = std::get<std::unique_ptr<PluginKernel>>(std::move(made));
    RunAt(FencedPlace::kAtEnd);
    RunAt(FencedPlace::kAtStart);
    const PluginStep step("destroy", most_seconds_);
    kernel_.reset();
    forward_.reset();
    return {Verdict::kGood, ""};
  }

 private:
  // Runs twice and compares each time. Throws KernelFailed.
  void RunAt(FencedPlace place) {
    std::unique_ptr<FencedRun> forward;
    if (forward_ != nullptr) {
      forward = std::make_unique<FencedRun>(*forward_, problem_.forward_inputs(), place);
      forward->Prepare(most_seconds_);
      forward->Run(most_seconds_);
    }
    FencedRun run(*kernel_, problem_.inputs(), place);
    if (forward != nullptr) run.TakeWorkspace(*forward);
    run.Prepare(most_seconds_);
    for (int again = 0; again < 2; ++again) {
      run.Run(most_seconds_);
      RequireNumbers(problem_, *kernel_, run.Bound());
      const CaseCheck check =
          CompareWithReference(problem_, *kernel_, run.Bound(), plugin_.name, "");
      if (!check.agrees) throw KernelFailed(check.reason);
    }
  }

  const PluginLibrary& plugin_;
  const KernelRequest request_;
  const double most_seconds_;
  const KernelProblem problem_;
  std::unique_ptr<PluginKernel> forward_;
  std::unique_ptr<PluginKernel> kernel_;
};

constexpr std::string_view kAny = "-";

KernelRequest ParseRequest(std::istream& lines) {
  const auto line = [&lines] {
    std::string text;
    std::getline(lines, text);
    return text;
  };
  KernelRequest request;
  request.op = ParseProblem(line());
  request.execution.pass = ParsePass(line()).value();
  request.execution.training = line() == "1";
  request.execution.type = ParseDataType(line()).value();
  request.threads = std::stoi(line());
  request.layouts = LayoutsIn(line(), request);
  return request;
}

TrialAnswer Try(const std::string& trial, double most_seconds) {
  std::istringstream lines(trial);
  std::string kind;
  std::string path;
  std::getline(lines, kind);
  std::getline(lines, path);
  InstallHandlers();
  PluginLibrary plugin;
  {
    const PluginStep step("loading it", most_seconds);
    plugin = OpenPlugin(path);
  }
  if (kind == "load") return {Verdict::kGood, ""};
  const KernelRequest request = ParseRequest(lines);
  const ThreadWidth width(request.threads);
  if (kind == "check") return Check(plugin, request, most_seconds).Answer();
  auto made = Create(plugin, request, most_seconds);
  if (auto* refusal = std::get_if<Refusal>(&made)) return {Verdict::kRefused, refusal->reason};
  auto& kernel = std::get<std::unique_ptr<PluginKernel>>(made);
  TrialAnswer answer{Verdict::kGood, LayoutsText(*kernel)};
  const PluginStep step("destroy", most_seconds);
  kernel.reset();
  return answer;
}

TrialAnswer TryAnyway(const std::string& trial, double most_seconds) try {
  return Try(trial, most_seconds);
} catch (const std::bad_alloc&) {
  return {Verdict::kRefused, "there is too little memory to check it"};
} catch (const std::exception& error) {
  return {Verdict::kFailed, error.what()};
}

}  // namespace

std::string TrialText(TrialKind kind, const std::string& library, const KernelRequest& request) {
  if (kind == TrialKind::kLoad) return fmt::format("load\n{}\n", library);
  std::string layouts;
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    layouts += fmt::format("{} ", layout.is_any() ? kAny : std::string_view(layout.tag()));
  }
  return fmt::format(
      "{}\n{}\n{}/{}\n{}\n{}\n{}\n{}\n{}\n", kind == TrialKind::kOffer ? "offer" : "check", library,
      request.op->kind(), request.op->Problem(), NameOf(request.execution.pass),
      request.execution.training ? 1 : 0, NameOf(request.execution.type), request.threads, layouts);
}

std::map<Arg, Layout> LayoutsIn(const std::string& text, const KernelRequest& request) {
  std::map<Arg, Layout> layouts;
  std::istringstream tags(text);
  std::string tag;
  for (const Operand& operand : request.op->Operands(request.execution)) {
    if (!(tags >> tag) || tag == kAny) continue;
    if (const auto layout = Layout::Parse(tag)) layouts[operand.arg] = *layout;
  }
  return layouts;
}

std::string AnswerText(const TrialAnswer& answer) {
  return fmt::format("{}{}{}", kLetters[static_cast<std::size_t>(answer.verdict)], answer.text,
                     kEnd);
}

bool ParseAnswer(std::string_view text, TrialAnswer& answer) {
  if (text.size() < 2 || text.back() != kEnd) return false;
  const std::size_t verdict = kLetters.find(text.front());
  if (verdict == kLetters.npos) return false;
  answer.verdict = static_cast<Verdict>(verdict);
  answer.text = text.substr(1, text.size() - 2);
  return true;
}

void RunTrial(const std::string& trial, double most_seconds, int answer) {
  progress.answer = answer;
  WriteText(AnswerText(TryAnyway(trial, most_seconds)).c_str());
}

}  // namespace topdnn
