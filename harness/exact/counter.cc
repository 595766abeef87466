#include "harness/exact/counter.h"

#include <stdexcept>

#if defined(__x86_64__)

#include <cpuid.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/exact/context.h"
#include "harness/exact/signals.h"
#include "harness/exact/threads.h"

namespace topdnn {

namespace {

std::size_t XsaveSize() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return 0;
  return __get_cpuid_count(13, 0, &a, &b, &c, &d) == 0 ? 0 : c;
}

bool HasShadowStack() {
  constexpr int kShadowStackStatus = 0x5005;  // ARCH_SHSTK_STATUS, Linux 6.6
  std::uint64_t features = 0;
  return syscall(SYS_arch_prctl, kShadowStackStatus, &features) == 0 && (features & 1) != 0;
}

// Distinct code and branches over every thread.
void Summarize(const std::vector<Context*>& contexts, ExactCounts* counts) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> touched;
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> branches;
  for (const Context* c : contexts) {
    for (const auto& [start, end] : c->touched) touched.emplace_back(start, end);
    for (const BranchCount& b : c->branches) {
      branches[b.address].first += b.taken;
      branches[b.address].second += b.not_taken;
    }
  }
  std::sort(touched.begin(), touched.end());
  std::uint64_t end = 0;
  std::uint64_t start = 0;
  for (const auto& [low, high] : touched) {
    counts->blocks += low != start;
    start = low;
    if (high > end) counts->code_bytes += high - std::max(low, end);
    end = std::max(end, high);
  }
  for (const auto& [address, count] : branches) {
    counts->minority_branches += std::min(count.first, count.second);
  }
}

}  // namespace

Availability ExactCounter::Probe() {
  if (XsaveSize() == 0 || XsaveSize() > kXsaveBytes) {
    return {false, "this processor's state cannot be saved by XSAVE", ""};
  }
  if (HasShadowStack()) {
    return {false, "shadow stacks are on: translated returns would fault",
            "GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK"};
  }
  static std::string why;
  static Context* const probe = NewContext(&why);
  if (probe == nullptr) return {false, why, ""};
  return {true, "counts every instruction by translation, without a PMU", ""};
}

ExactCounts ExactCounter::Count(void (*function)(void*), void* argument, Width width) {
  static const Availability available = Probe();
  if (!available.works) throw std::logic_error("exact counter: " + available.reason);
  static std::atomic<bool> counting{false};
  if (counting.exchange(true)) throw std::logic_error("exact counter: a count is already running");
  static std::string why;
  static Context* const c = NewContext(&why);
  if (c == nullptr) {
    counting = false;
    throw std::logic_error("exact counter: " + why);
  }
  PrepareDecoder();
  PrepareTeams();
  Reset(c);
  const int team_width = omp_get_max_threads();
  if (width == Width::kSingle) omp_set_num_threads(1);
  const auto before = ThreadTimes();
  BeginTeam();
  TakeSignals(c);
  CurrentContext() = c;
  const auto finish = [&] {
    CurrentContext() = nullptr;
    ReturnSignals();
    if (width == Width::kSingle) omp_set_num_threads(team_width);
    counting = false;
  };
  try {
    FollowChanges(c);
    RunTranslated(c, AddressOf(function), AddressOf(argument), 0, 0, true);
  } catch (...) {
    finish();
    throw;
  }
  finish();
  NoteStrangers(c, before);
  std::vector<Context*> contexts = EndTeam();
  contexts.insert(contexts.begin(), c);
  ExactCounts counts;
  for (Context* each : contexts) {
    Fold(each);
    const ExactCounts& own = *each->counts;
    counts.Add(own, 1);
    counts.conditional_taken += own.conditional_taken;
    counts.amx_bf16 += own.amx_bf16;
    counts.amx_int8 += own.amx_int8;
    counts.amx_bf16_flops += own.amx_bf16_flops;
    counts.amx_int8_ops += own.amx_int8_ops;
    counts.openmp_instructions += own.openmp_instructions;
    counts.openmp_branches += own.openmp_branches;
    if (each->incomplete == nullptr || !counts.incomplete_reason.empty()) continue;
    counts.incomplete_reason =
        each->incomplete_address == 0
            ? std::string(each->incomplete)
            : fmt::format("{} at {:#x}", each->incomplete, each->incomplete_address);
  }
  Summarize(contexts, &counts);
  counts.threads = static_cast<int>(contexts.size());
  counts.width_forced = width == Width::kSingle;
  counts.complete = counts.incomplete_reason.empty();
  return counts;
}

}  // namespace topdnn

#else  // not x86-64

namespace topdnn {

Availability ExactCounter::Probe() {
  return {false, "the exact counter translates x86-64 code, and this is another architecture", ""};
}

ExactCounts ExactCounter::Count(void (*)(void*), void*, Width) {
  throw std::logic_error("exact counter: " + Probe().reason);
}

}  // namespace topdnn

#endif
