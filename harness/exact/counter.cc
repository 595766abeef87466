#include "harness/exact/counter.h"

#include <stdexcept>

#include "harness/exact/translated_run.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "harness/exact/context.h"
#include "harness/exact/mappings.h"
#include "harness/exact/signals.h"
#include "harness/exact/threads.h"
#include "harness/machine/child_trial.h"

namespace topdnn {

namespace {

std::size_t XsaveSize() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return 0;
  return __get_cpuid_count(13, 0, &a, &b, &c, &d) == 0 ? 0 : c;
}

bool HasShadowStack() {
  constexpr int kShadowStackStatus = 0x5005;  // ARCH_SHSTK_STATUS, Linux 6.6
  std::uint64_t features = 0;
  return syscall(SYS_arch_prctl, kShadowStackStatus, &features) == 0 && (features & 1) != 0;
}

// The blocks of all threads by start and end, and how often each ran.
std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> TimesOfBlocks(
    const std::vector<Context*>& contexts) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> times;
  for (const Context* c : contexts) {
    for (const BlockCount& block : c->touched) times[{block.start, block.end}] += block.times;
  }
  return times;
}

// The conditional branches of all threads by address.
std::map<std::uint64_t, ExecutedBranch> Branches(const std::vector<Context*>& contexts) {
  std::map<std::uint64_t, ExecutedBranch> branches;
  for (const Context* c : contexts) {
    for (const ExecutedBranch& branch : c->branches) {
      ExecutedBranch& sum = branches[branch.address];
      sum = {branch.address,           sum.taken + branch.taken, sum.not_taken + branch.not_taken,
             sum.rarer + branch.rarer, sum.pairs + branch.pairs, sum.irregular + branch.irregular};
    }
  }
  return branches;
}

// Counts distinct code once for all threads, and the rarer direction of each branch.
void Summarize(const std::vector<Context*>& contexts, ExactCounts* counts) {
  std::uint64_t seen = 0;
  std::uint64_t last_start = 0;
  for (const auto& [range, times] : TimesOfBlocks(contexts)) {
    if (range.second > seen) counts->code_bytes += range.second - std::max(range.first, seen);
    seen = std::max(seen, range.second);
    counts->blocks += range.first != last_start;
    last_start = range.first;
  }
  const std::uint64_t own_branches =
      counts->conditional_branches -
      std::min(counts->conditional_branches, counts->openmp_branches);
  for (const auto& [address, branch] : Branches(contexts)) {
    counts->minority_branches += std::min(branch.taken, branch.not_taken);
    const bool learned = branch.pairs * kLearnedBranches >= own_branches;
    const std::uint64_t missed =
        kMissesOfPair * branch.irregular + kLearningMisses * contexts.size();
    counts->missed_branches += learned ? std::min(branch.rarer, missed) : branch.rarer;
  }
  if (counts->missed_branches > own_branches / kBranchesPerMiss) {
    counts->missed_branches = counts->minority_branches;
  }
}

// The state of a running count. The destructor restores everything, also after an exception.
class Counting {
 public:
  Counting(Context* context, const Translation& how, std::uint64_t (*team_clock)() noexcept) {
    CurrentTranslation() = how;
    TimeTeams(team_clock);
    Reset(context);
    BeginTeam();
    NoteMappingChange(0, 0);  // code may have changed since the last region
    TakeSignals();
    CurrentContext() = context;
  }
  ~Counting() {
    CurrentContext() = nullptr;
    ReturnSignals();
    CurrentTranslation() = {};
    TimeTeams(nullptr);
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
};

// Allows one count at a time.
class Turn {
 public:
  Turn() {
    if (taken.exchange(true)) throw std::logic_error("exact counter: a count is already running");
  }
  ~Turn() { taken = false; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static inline std::atomic<bool> taken{false};
};

// What is summed over the threads, beside the members of Tally.
constexpr std::uint64_t ExactCounts::*kSummed[] = {
    &ExactCounts::conditional_taken, &ExactCounts::amx_bf16,
    &ExactCounts::amx_int8,          &ExactCounts::amx_bf16_flops,
    &ExactCounts::amx_int8_ops,      &ExactCounts::openmp_instructions,
    &ExactCounts::openmp_branches,   &ExactCounts::openmp_slow_instructions};

// The sum over all threads of the region.
ExactCounts SumOf(const std::vector<Context*>& contexts) {
  ExactCounts counts;
  for (Context* each : contexts) {
    Fold(each);
    const ExactCounts& own = *each->counts;
    counts.Add(own, 1);
    if (each != contexts.front()) {  // (it starts the teams)
      counts.synchronizing_instructions += own.atomic_instructions + own.system_calls;
    }
    for (const auto member : kSummed) counts.*member += own.*member;
    counts.thread_instructions.push_back(own.instructions - own.openmp_instructions);
    if (each->incomplete == nullptr || !counts.incomplete_reason.empty()) continue;
    counts.incomplete_reason =
        each->incomplete_address == 0
            ? std::string(each->incomplete)
            : fmt::format("{} at {:#x}", each->incomplete, each->incomplete_address);
  }
  Summarize(contexts, &counts);
  counts.threads = static_cast<int>(contexts.size());
  counts.complete = counts.incomplete_reason.empty();
  return counts;
}

// All threads' blocks, branches and tile products, each once.
BlockProfile BlocksOf(const std::vector<Context*>& contexts) {
  BlockProfile profile;
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  for (const auto& [range, times] : TimesOfBlocks(contexts)) {
    ExecutedBlock block{range.first, range.second, times, IsTeamRuntime(range.first), {}};
    block.code.resize(block.end - block.start);
    const ssize_t got =
        pread(memory, block.code.data(), block.code.size(), static_cast<off_t>(block.start));
    if (got != static_cast<ssize_t>(block.code.size())) block.code.clear();
    profile.blocks.push_back(std::move(block));
  }
  if (memory >= 0) close(memory);
  for (const auto& [address, branch] : Branches(contexts)) profile.branches.push_back(branch);
  for (const Context* c : contexts) {
    for (const TileOperations& tile : c->tiles) {
      profile.tile_operations[tile.address] += tile.operations;
    }
  }
  return profile;
}

// The context of the thread that counts: one per process, because only one count runs at a time.
// A forked child makes its own: it shares the code of its parent's contexts, which each would
// overwrite for the other. Null with a reason in `*why` if the system refuses its memory.
Context* MainContext(std::string* why) {
  static std::string reason;
  static Context* context = nullptr;
  static pid_t process = 0;
  if (process != getpid()) {
    if (process != 0) ForgetParent();
    process = getpid();
    context = NewContext(&reason);
  }
  *why = reason;
  return context;
}

// `team_clock`: null, or times the shares of teams. `look`: empty, or reads the threads' contexts.
ExactCounts CountRegion(void (*function)(void*), void* argument, const Translation& how = {},
                        std::uint64_t (*team_clock)() noexcept = nullptr,
                        const std::function<void(const std::vector<Context*>&)>& look = {}) {
  const Turn turn;
  std::string why;
  Context* const c = MainContext(&why);
  if (c == nullptr) throw std::logic_error("exact counter: " + why);
  PrepareDecoder();
  PrepareTeams();
  const auto before = ThreadTimes();
  {
    const Counting counting(c, how, team_clock);
    RunTranslated(c, AddressOf(function), AddressOf(argument));
  }
  NoteOtherThreads(c, before);
  std::vector<Context*> contexts = EndTeam();
  contexts.insert(contexts.begin(), c);
  ExactCounts counts = SumOf(contexts);
  if (look) look(contexts);
  return counts;
}

// Counts a region of 1,000 additions and checks the result.
bool CountsATrial() {
  double sum = 0;
  const auto region = [](void* to) {
    for (int k = 0; k < 1000; ++k) asm volatile("addsd %0, %0" : "+x"(*static_cast<double*>(to)));
    getppid();
  };
  const ExactCounts counts = CountRegion(region, &sum);
  return counts.complete && counts.fp[kF64][kScalar] == 1000;
}

// Counts the trial region in a child process: an emulated processor, a small stack or a denied
// system call may end it, and this process continues.
Availability TryInChild() {
  constexpr unsigned kSeconds = 20;
  const TrialEnd end = RunInChild(CountsATrial, kSeconds);
  if (end.error != 0) {
    return {false, fmt::format("cannot run a process for its trial: {}", strerror(end.error)), ""};
  }
  if (end.succeeded) return {true, "counts every instruction by translation, without a PMU", ""};
  if (end.signal == 0) return {false, "its trial gave wrong counts on this machine", ""};
  constexpr rlim_t kSmallStack = 1U << 20;
  rlimit stack = {};
  getrlimit(RLIMIT_STACK, &stack);
  return {false, "its trial " + EndBySignal(end.signal),
          stack.rlim_cur < kSmallStack ? "ulimit -s 8192" : ""};
}

Availability FindOut() {
#if defined(__SANITIZE_THREAD__)
  return {false, "ThreadSanitizer adds instructions, whose number differs from call to call", ""};
#endif
  if (XsaveSize() == 0 || XsaveSize() > kXsaveBytes) {
    return {false, "XSAVE cannot save this processor's state", ""};
  }
  if (HasShadowStack()) {
    return {false, "shadow stacks are on: translated returns would fault",
            "GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK"};
  }
  if (std::string why; MainContext(&why) == nullptr) return {false, why, ""};
  return TryInChild();
}

void RequireProbe() {
  const Availability available = ExactCounter::Probe();
  if (!available.works) throw std::logic_error("exact counter: " + available.reason);
}

}  // namespace

Availability ExactCounter::Probe() {
  static const Availability available = FindOut();
  return available;
}

ExactCounts ExactCounter::Count(void (*function)(void*), void* argument, BlockProfile* blocks) {
  RequireProbe();
  const auto look = [blocks](const std::vector<Context*>& contexts) {
    if (blocks != nullptr) *blocks = BlocksOf(contexts);
  };
  return CountRegion(function, argument, {}, nullptr, look);
}

LearnedRegion LearnOperands(void (*function)(void*), void* argument,
                            std::span<const std::span<const std::byte>> tensors) {
  RequireProbe();
  LearnedRegion learned;
  std::vector<OperandRecord> records;
  std::vector<std::uint64_t> stacks;
  const auto look = [&](const std::vector<Context*>& contexts) {
    for (const Context* c : contexts) {
      records.insert(records.end(), c->operands.begin(), c->operands.end());
      stacks.push_back(c->stack);
      learned.teams += c->team_calls.count;
    }
  };
  learned.counts = CountRegion(function, argument, {.records = true}, nullptr, look);
  learned.redirection = ChooseOperands(records, tensors, stacks);
  return learned;
}

ExactCounts CountRedirected(void (*function)(void*), void* argument,
                            const Redirection& redirection) {
  RequireProbe();
  return CountRegion(function, argument, {.redirection = &redirection});
}

std::string RunUncounted(void (*function)(void*), void* argument, const Redirection* redirection,
                         std::uint64_t (*clock)() noexcept) {
  RequireProbe();
  return CountRegion(function, argument, {.counts = false, .redirection = redirection}, clock)
      .incomplete_reason;
}

}  // namespace topdnn

#else  // not x86-64

namespace topdnn {

Availability ExactCounter::Probe() {
  return {false, "the exact counter translates x86-64 code; other architectures are not supported",
          ""};
}

ExactCounts ExactCounter::Count(void (*)(void*), void*, BlockProfile*) {
  throw std::logic_error("exact counter: " + Probe().reason);
}

LearnedRegion LearnOperands(void (*)(void*), void*, std::span<const std::span<const std::byte>>) {
  throw std::logic_error("exact counter: " + ExactCounter::Probe().reason);
}

ExactCounts CountRedirected(void (*)(void*), void*, const Redirection&) {
  throw std::logic_error("exact counter: " + ExactCounter::Probe().reason);
}

std::string RunUncounted(void (*)(void*), void*, const Redirection*, std::uint64_t (*)() noexcept) {
  throw std::logic_error("exact counter: " + ExactCounter::Probe().reason);
}

std::uint64_t WaitedForTeams() noexcept { return 0; }
TeamTicks TimeInTeams() noexcept { return {}; }

}  // namespace topdnn

#endif
