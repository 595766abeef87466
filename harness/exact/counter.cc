#include "harness/exact/counter.h"

#include <stdexcept>

#if defined(__x86_64__)

#include <cpuid.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/exact/context.h"
#include "harness/exact/threads.h"

extern "C" void TopdnnExactSlowPath();
extern "C" void TopdnnExactEnter(const std::uint8_t* code, std::uint64_t a, std::uint64_t b,
                                 std::uint64_t c, std::uint64_t* entry_rsp);

// The translated code sees a call from here, so that unwinding passes through to C++; it returns to
// TopdnnExactStop, which the dispatcher knows.
asm(R"(
  .text
  .globl TopdnnExactEnter
  .globl TopdnnExactStop
  .hidden TopdnnExactEnter
  .hidden TopdnnExactStop
TopdnnExactEnter:
  .cfi_startproc
  .irp saved, rbp, rbx, r12, r13, r14, r15
  push %\saved
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %\saved, 0
  .endr
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  mov %rsp, (%r8)
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  call *%rax
TopdnnExactStop:
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  .irp saved, r15, r14, r13, r12, rbx, rbp
  pop %\saved
  .cfi_adjust_cfa_offset -8
  .endr
  ret
  .cfi_endproc
)");

namespace topdnn {

namespace {

constexpr std::size_t kStackBytes = 512U << 10;
constexpr std::size_t kXsaveBytes = 32U << 10;

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

// Reserved, zeroed and page-aligned places, one after the other.
class Arena {
 public:
  template <class T>
  T* Take(std::size_t count) {
    auto* place = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + 4095) & ~std::size_t{4095};
    return place;
  }
  std::uint8_t* base_ = nullptr;
  std::size_t used_ = 0;
};

// The layout; with an arena of no base, its size.
void LayOut(Arena* arena, Context* into) {
  Context unused;
  Context* c = into == nullptr ? &unused : into;
  c->stack_top =
      reinterpret_cast<std::uint64_t>(arena->Take<std::uint8_t>(kStackBytes)) + kStackBytes;
  c->xsave_area = reinterpret_cast<std::uint64_t>(arena->Take<std::uint8_t>(kXsaveBytes));
  c->lookup = arena->Take<LookupSet>(kLookupSets);
  c->counters = arena->Take<std::uint64_t>(kMaxExits);
  c->blocks = arena->Take<Block>(kMaxBlocks);
  c->block_of = arena->Take<std::uint32_t>(2 * kMaxBlocks);
  c->sites = arena->Take<Site>(kMaxBranches);
  c->exits = arena->Take<Exit>(kMaxExits);
  c->branches = arena->Take<BranchCount>(kMaxBranches);
  c->branches_used = arena->Take<std::uint32_t>(kMaxBranches);
  c->touched = arena->Take<Context::Interval>(kMaxBranches);
  c->team_calls = arena->Take<TeamCall>(kMaxBranches);
  c->counts = arena->Take<ExactCounts>(1);
  c->code_begin = arena->Take<std::uint8_t>(kCodeBytes);
}

// Distinct code and branches over every thread.
void Summarize(const std::vector<Context*>& contexts, ExactCounts* counts) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> touched;
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> branches;
  for (const Context* c : contexts) {
    for (std::uint32_t k = 0; k < c->touched_count; ++k) {
      touched.emplace_back(c->touched[k].start, c->touched[k].end);
    }
    for (std::uint32_t k = 0; k < c->branches_used_count; ++k) {
      const BranchCount& b = c->branches[c->branches_used[k]];
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

Context* NewContext(std::string* why) {
  Arena arena;
  const std::size_t head = (sizeof(Context) + 4095) & ~std::size_t{4095};
  LayOut(&arena, nullptr);
  const std::size_t total = head + arena.used_;
  auto* base = static_cast<std::uint8_t*>(mmap(nullptr, total, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED) {
    *why = "no address space for the code cache";
    return nullptr;
  }
  auto* c = new (base) Context();
  arena = {base + head, 0};
  LayOut(&arena, c);
  // The code twice: executable here, writable there; hosts may refuse a mapping that is both.
  auto* code = const_cast<std::uint8_t*>(c->code_begin);
  const int file = memfd_create("topdnn-code", MFD_CLOEXEC);
  void* writable = MAP_FAILED;
  if (file >= 0 && ftruncate(file, kCodeBytes) == 0 &&
      mmap(code, kCodeBytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, file, 0) == code) {
    writable = mmap(nullptr, kCodeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (file >= 0) close(file);
  if (writable == MAP_FAILED) {
    munmap(base, total);
    *why = "the system refuses executable memory (memfd_create, PROT_EXEC)";
    return nullptr;
  }
  c->alias = static_cast<std::uint8_t*>(writable) - code;
  c->slow_path = reinterpret_cast<std::uint64_t>(&TopdnnExactSlowPath);
  new (c->counts) ExactCounts();
  Reset(c);
  return c;
}

void Reset(Context* c) noexcept {
  c->left = Context::Left::kRunning;
  c->incomplete = nullptr;
  c->children = 0;
  c->nested = 0;
  c->alternate_low = c->alternate_high = 0;
  Flush(c);
  *c->counts = ExactCounts();
  for (std::uint32_t k = 0; k < c->branches_used_count; ++k) c->branches[c->branches_used[k]] = {};
  c->touched_count = c->team_call_count = c->branches_used_count = 0;
}

void RunTranslated(Context* c, std::uint64_t function, std::uint64_t a, std::uint64_t b,
                   std::uint64_t third, bool outermost) {
  c->left = Context::Left::kRunning;
  std::uint64_t unused = 0;
  FollowChanges(c);
  const std::uint8_t* code = CodeFor(c, function);
  if (code == nullptr) {
    Miss(c, "an instruction that cannot be followed; the rest ran uncounted", function);
    code = PointerTo<const std::uint8_t>(function);
  }
  TopdnnExactEnter(code, a, b, third, outermost ? &c->entry_rsp : &unused);
}

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
  PrepareSpecialAddresses();
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
    RunTranslated(c, reinterpret_cast<std::uint64_t>(function),
                  reinterpret_cast<std::uint64_t>(argument), 0, 0, true);
  } catch (...) {
    finish();
    throw;
  }
  if (c->left != Context::Left::kReturned) Miss(c, "the region left translation", 0);
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
