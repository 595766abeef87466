#include "bench/validation/kernel_validation.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/interrupt.h"
#include "harness/machine/isa.h"
#include "kernels/check/random_inputs.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/plugin/plugins.h"
#include "kernels/reorder/store.h"

namespace topdnn {

namespace {

// A problem, and the operations allowed besides its multiply-accumulates.
struct Problem {
  std::shared_ptr<const Op> op;
  DataType type;
  // Whether the known FLOPs exclude those on padding.
  bool skips_padding;
  Allowance allowance;
  // FLOPs that the kernel's algorithm adds to the definition.
  double besides = 0;
};

// AMX multiplies tiles of 16 pixels. Those of an image of 26 x 26 pixels are 25 rows of 28 and one
// of 26, in 46 tiles: 736 pixels, 8.9 % more than 676.
const Allowance kTiles = {0.09, 64, "whole tiles of 16 pixels, those between the rows as well"};

constexpr ConvEpilogue kBare = {.bias = false, .sum = false, .relu = false};

std::shared_ptr<const Op> Conv(std::int64_t channels, std::int64_t padding) {
  ConvExtents e;
  e.n = 2;
  e.c = e.k = channels;
  e.h = e.w = 28;
  e.r = e.s = 3;
  e.pad_top = e.pad_left = e.pad_bottom = e.pad_right = padding;
  return std::make_shared<ConvOp>(e, kBare);
}

std::shared_ptr<const Op> Gemm(std::int64_t n) {
  return std::make_shared<GemmOp>(GemmExtents{.m = n, .n = n, .k = n});
}

// Direct convolutions execute the operations that follow from the shapes; a blocked product also
// adds up its blocks.
std::vector<Problem> ProblemsOf(const std::string& backend) {
  if (backend == kNative) return {};  // no product, and convolutions by cheaper algorithms alone
  const Allowance table = {0, 16, "a look-up in a hash table compares load factors in floats"};
  const Allowance blocks = {0.01, 64, "partial products of the blocks are added; edges"};
  const Allowance lowered = {0.02, 64, "lowered to a matrix product, by blocks"};
  const bool direct = backend == "onednn" || backend == "reference";
  // 500 columns take 32 vectors of 16 with 12 lanes unused, or 63 vectors of 8 with 4 unused.
  const Allowance edges = {0.04, 64,
                           "masked lanes of the last vector count in full; partial products"};
  const Allowance& conv = direct ? table : lowered;
  const bool plain = backend == "reference";
  std::vector<Problem> problems = {
      {Conv(32, 0), DataType::kF32, true, conv},
      // A lowered convolution also multiplies by the padding.
      {Conv(32, 1), DataType::kF32, direct, conv},
      // (plain loops scale each result by alpha)
      {Gemm(256), DataType::kF32, false, plain ? table : blocks, plain ? 256.0 * 256.0 : 0},
      {Gemm(500), DataType::kF32, false, plain ? table : edges, plain ? 500.0 * 500.0 : 0}};
  if (backend == "onednn") problems.push_back({Conv(32, 0), DataType::kBF16, true, table});
  // Whether a plug-in multiplies by the padding is not known.
  if (IsPlugin(backend)) problems.erase(problems.begin() + 1);
  return problems;
}

// A kernel with its own operands.
class PreparedKernel {
 public:
  explicit PreparedKernel(std::unique_ptr<Kernel> kernel, const KernelRequest& request,
                          const std::string& backend)
      : kernel_(std::move(kernel)) {
    const Values inputs = RandomInputs(*request.op, request.execution, 1);
    std::map<Arg, void*> bound;
    for (const KernelOperand& operand : kernel_->operands()) {
      AlignedMemory& memory = memory_.emplace_back(operand.desc.bytes());
      const auto values = inputs.find(operand.arg);
      if (operand.direction != Direction::kOut && values != inputs.end()) {
        StoreValues(values->second, operand.desc, memory.data(), backend);
      }
      bound[operand.arg] = memory.data();
    }
    kernel_->Prepare(bound);
  }

  const Kernel& kernel() const { return *kernel_; }
  static void Run(void* self) { static_cast<PreparedKernel*>(self)->kernel_->Run(); }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<AlignedMemory> memory_;
};

ValidationCase Validate(const std::string& backend, const Problem& problem, int threads,
                        const ValidationSources& sources) {
  KernelRequest request;
  request.op = problem.op;
  request.execution = {Pass::kForward, false, problem.type};
  request.threads = threads;
  ValidationCase c;
  c.name = fmt::format("{} {} {}", problem.op->Problem(), NameOf(problem.type), backend);
  c.quantity = "flops";
  const Work work = problem.op->WorkOf(Pass::kForward, problem.type);
  c.known = static_cast<double>(problem.skips_padding ? work.flops_without_padding : work.flops) +
            problem.besides;
  c.exact_allowance = problem.allowance;
  KernelOrRefusal made = MakeKernel(backend, request);
  if (const auto* refusal = std::get_if<Refusal>(&made)) {
    if (refusal->failed) c.verdict = Status::kFailed;
    c.reason = refusal->reason;
    return c;
  }
  if (const std::string failure = FailureOf(*std::get<std::unique_ptr<Kernel>>(made));
      !failure.empty()) {
    c.verdict = Status::kFailed;
    c.reason = failure;
    return c;
  }
  const ThreadWidth width(threads);
  PreparedKernel prepared(std::get<std::unique_ptr<Kernel>>(std::move(made)), request, backend);
  c.name += fmt::format(" {}", prepared.kernel().implementation());
  if (prepared.kernel().isa().starts_with("amx")) c.exact_allowance = kTiles;
  if (sources.exact == nullptr) {
    Judge(c);
    return c;
  }
  PreparedKernel::Run(&prepared);  // the first run does one-time setup
  LetPoolsPark();
  const EventCount count =
      CountRegion(*sources.exact, PreparedKernel::Run, &prepared).at(std::string(kFlopsEvent));
  c.exact = count.value;
  c.reason = count.reason;
  if (!c.exact) c.verdict = Status::kInvalid;
  Judge(c);
  return c;
}

// What a shell command printed to standard output, and how it ended.
struct ShellResult {
  std::string output;
  int status = -1;  // the exit status, or 128 and the number of the signal; -1: not known
};

ShellResult RunCommand(const std::string& command) {
  ShellResult result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) {
    result.output.append(part, n);
  }
  const int ended = pclose(pipe);
  if (WIFEXITED(ended)) result.status = WEXITSTATUS(ended);
  if (WIFSIGNALED(ended)) result.status = 128 + WTERMSIG(ended);
  return result;
}

// The cases that a child process of this program reports at an ISA level.
std::vector<ValidationCase> ValidateAtLevel(const std::string& level) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const ShellResult result =
      RunCommand(fmt::format("DNNL_MAX_CPU_ISA={} {} validate --kernels-of onednn --json - "
                             "2>/dev/null",  // its table
                             level, JoinedWords({program})));
  return CasesOfLevel(level, result.output, result.status);
}

}  // namespace

void LetPoolsPark() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

std::vector<ValidationCase> CasesOfLevel(const std::string& level, const std::string& result,
                                         int status) {
  std::vector<ValidationCase> cases;
  std::string problem;
  // (a process that compared everything may have found differences, or nothing to count)
  if (status != kExitGood && status != kExitWrong && status != kExitNothing) {
    problem = fmt::format("exit status {}", status);
  }
  try {
    const auto json = nlohmann::ordered_json::parse(result);
    for (const auto& row : json.at("cases")) {
      cases.push_back(ValidationCaseOf(row));
      cases.back().name += fmt::format(" (at most {})", level);
    }
  } catch (const nlohmann::json::exception& e) {
    cases.clear();
    problem += fmt::format("{}{}", problem.empty() ? "" : ", ", e.what());
  }
  if (problem.empty()) return cases;
  ValidationCase broken;
  broken.name = fmt::format("onednn (at most {})", level);
  broken.quantity = "flops";
  broken.verdict = Status::kInvalid;
  broken.reason =
      cases.empty()
          ? fmt::format("the process for this level gave no complete result: {}", problem)
          : fmt::format("partial: the process for this level ended early ({}): repeat the run",
                        problem);
  cases.push_back(std::move(broken));
  return cases;
}

std::vector<ValidationCase> ValidateOneDnnAtLevels(
    const std::function<void(std::string_view)>& say) {
  std::vector<ValidationCase> cases;
  const std::pair<const char*, Isa> levels[] = {{"SSE41", Isa::kAvx2}, {"AVX2", Isa::kAvx512}};
  for (const auto& [level, next] : levels) {
    if (Interrupted()) break;
    if (!HasIsa(next)) break;  // the machine's own level is not counted twice
    say(fmt::format("onednn at most {}", level));
    for (ValidationCase& c : ValidateAtLevel(level)) cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<ValidationCase> ValidateKernels(const ValidationSources& sources,
                                            const std::vector<std::string>& backends, int threads,
                                            const std::function<void(std::string_view)>& say) {
  std::vector<ValidationCase> cases;
  for (const std::string& backend : backends) {
    for (const Problem& problem : ProblemsOf(backend)) {
      if (Interrupted()) return cases;
      say(fmt::format("{} {} on {}", problem.op->kind(), problem.op->Problem(), backend));
      cases.push_back(Validate(backend, problem, threads, sources));
      // The counter does not follow the workers of this backend's pool. On one thread the caller
      // does all the work.
      if (cases.back().verdict != Status::kInvalid || threads == 1) continue;
      cases.back() = Validate(backend, problem, 1, sources);
      cases.back().name += " (1 thread)";
    }
  }
  return cases;
}

}  // namespace topdnn
