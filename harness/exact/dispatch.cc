// The way out of translated code and back: saves the whole state, finds or translates what comes
// next, chains it, returns.

#if defined(__x86_64__)

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "harness/exact/context.h"

extern "C" {
void TopdnnExactSlowPath();
void TopdnnExactStop();
__attribute__((used, visibility("hidden"))) void TopdnnExactDispatch(topdnn::Context* c) noexcept;
}

static_assert(offsetof(topdnn::Context, flags) == 128 && offsetof(topdnn::Context, spill) == 168,
              "the assembly below uses these offsets");

// Entry: rax = context, the program's rax in spill[0]. The dispatcher runs on a stack of its own:
// the program's may be full, and its red zone is in use. `iretq` restores flags, stack and place at
// once, and serializes after the code cache was written.
asm(R"(
  .text
  .globl TopdnnExactSlowPath
  .hidden TopdnnExactSlowPath
TopdnnExactSlowPath:
  mov %rcx, 8(%rax)
  mov %rdx, 16(%rax)
  mov %rbx, 24(%rax)
  mov %rsp, 32(%rax)
  mov %rbp, 40(%rax)
  mov %rsi, 48(%rax)
  mov %rdi, 56(%rax)
  .irp k, 8, 9, 10, 11, 12, 13, 14, 15
  mov %r\k, 8*\k(%rax)
  .endr
  mov 168(%rax), %rcx
  mov %rcx, (%rax)
  mov 144(%rax), %rsp
  pushfq
  popq 128(%rax)
  cld
  mov %rax, %rbx
  mov 152(%rbx), %rdi
  mov $-1, %eax
  mov $-1, %edx
  xsave64 (%rdi)
  mov %rbx, %rdi
  xor %ebp, %ebp
  call TopdnnExactDispatch
  mov 152(%rbx), %rdi
  mov $-1, %eax
  mov $-1, %edx
  xrstor64 (%rdi)
  mov %ss, %ecx
  push %rcx
  push 32(%rbx)
  push 128(%rbx)
  mov %cs, %ecx
  push %rcx
  push 136(%rbx)
  mov %rbx, %rax
  mov 8(%rax), %rcx
  mov 16(%rax), %rdx
  mov 24(%rax), %rbx
  mov 40(%rax), %rbp
  mov 48(%rax), %rsi
  mov 56(%rax), %rdi
  .irp k, 8, 9, 10, 11, 12, 13, 14, 15
  mov 8*\k(%rax), %r\k
  .endr
  mov (%rax), %rax
  iretq
)");

namespace topdnn {

namespace {

// libgomp's ways to start a team: (function, data, ...). Those below kOpaque hand work to threads
// in ways that are not followed.
constexpr const char* kTeamNames[] = {"GOMP_parallel",
                                      "GOMP_parallel_loop_static",
                                      "GOMP_parallel_loop_dynamic",
                                      "GOMP_parallel_loop_guided",
                                      "GOMP_parallel_loop_runtime",
                                      "GOMP_parallel_sections",
                                      "GOMP_parallel_loop_nonmonotonic_dynamic",
                                      "GOMP_parallel_loop_nonmonotonic_guided",
                                      "GOMP_parallel_loop_nonmonotonic_runtime",
                                      "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
                                      "GOMP_parallel_reductions",
                                      "GOMP_task",
                                      "GOMP_taskloop",
                                      "GOMP_taskloop_ull",
                                      "GOMP_parallel_start",
                                      "GOMP_teams_reg"};
constexpr std::size_t kOpaque = 11;
constexpr std::size_t kTeams = std::size(kTeamNames);
std::uint64_t team_address[kTeams];

// Where libgomp's code lies; none where it is part of the program itself.
std::uint64_t runtime_low = 0;
std::uint64_t runtime_high = 0;

constexpr std::uint64_t kVsyscall = 0xffffffffff600000U;

enum { kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi, kR8 };

template <class Function>
std::uint64_t AddressOf(Function* function) {
  return reinterpret_cast<std::uint64_t>(function);
}

// The calls of the vsyscall page, which can be neither read nor copied.
std::uint64_t RunVsyscall(Context* c, std::uint64_t address) {
  const long number = address == kVsyscall           ? SYS_gettimeofday
                      : address == kVsyscall + 0x400 ? SYS_time
                                                     : SYS_getcpu;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(c->registers[kRdi]), "S"(c->registers[kRsi]), "d"(c->registers[kRdx])
               : "rcx", "r11", "memory");
  c->registers[kRax] = static_cast<std::uint64_t>(result);
  auto* stack = PointerTo<std::uint64_t>(c->registers[kRsp]);
  c->registers[kRsp] += 8;
  return *stack;
}

// A team is starting: each worker's share goes through RunTeamCall.
void HookTeam(Context* c, std::uint64_t address) {
  const auto* place = std::find(team_address, team_address + kTeams, address);
  if (place == team_address + kTeams) return;
  if (place >= team_address + kOpaque || c->team_call_count == kMaxBranches) {
    Miss(c, "OpenMP tasks or teams started", address);
    return;
  }
  TeamCall* call = &c->team_calls[c->team_call_count++];
  *call = {PointerTo<void(void*)>(c->registers[kRdi]), PointerTo<void>(c->registers[kRsi])};
  c->registers[kRdi] = AddressOf(&RunTeamCall);
  c->registers[kRsi] = AddressOf(call);
}

// Where `address` goes on; sets *chain when that place may be jumped to directly from now on.
std::uint64_t Resolve(Context* c, std::uint64_t address, bool* chain) {
  *chain = false;
  const std::uint64_t rsp = c->registers[kRsp];
  if (address == AddressOf(&TopdnnExactStop)) {
    c->left = Context::Left::kReturned;
    return address;
  }
  const bool alternate = rsp >= c->alternate_low && rsp < c->alternate_high;
  if (rsp > c->entry_rsp && !alternate) {  // an exception or longjmp left the region
    c->left = Context::Left::kEscaped;
    return address;
  }
  if ((address & ~std::uint64_t{0xc00}) == kVsyscall) {
    const std::uint64_t code = Resolve(c, RunVsyscall(c, address), chain);
    *chain = false;  // `address` stands for more than this code
    return code;
  }
  if (address == AddressOf(&RunTeamCall)) {  // this thread's own share
    const auto* call = PointerTo<const TeamCall>(c->registers[kRdi]);
    c->registers[kRdi] = reinterpret_cast<std::uint64_t>(call->data);
    const std::uint64_t code = Resolve(c, AddressOf(call->function), chain);
    *chain = false;
    return code;
  }
  *chain = !IsSpecial(address);
  if (!*chain) HookTeam(c, address);
  if (const std::uint8_t* code = CodeFor(c, address)) return AddressOf(code);
  *chain = false;
  Miss(c, "an instruction that cannot be followed; the rest ran uncounted", address);
  return address;
}

// Before a system call: what it would invalidate is given up.
void BeforeSystemCall(Context* c, const Exit& exit) {
  const std::uint64_t* r = c->registers;
  bool flush = false;
  bool child = false;
  switch (r[kRax]) {
    case SYS_mremap:
      flush = (r[kR8 + 2] & 2U) != 0;  // (r10: MREMAP_FIXED)
      [[fallthrough]];
    case SYS_munmap:
      flush |= Overlaps(c, r[kRdi], r[kRdi] + r[kRsi]);
      MappingsChange(r[kRdi], r[kRdi] + r[kRsi]);
      break;
    case SYS_mmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      flush = r[kRdi] != 0 && Overlaps(c, r[kRdi], r[kRdi] + r[kRsi]);
      MappingsChange(r[kRdi], r[kRdi] + r[kRsi]);
      break;
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
      ++c->children;
      child = true;
      break;
    case SYS_rt_sigaction:
      // (32 and 33 are the thread library's own; it takes them when its first thread starts)
      if (r[kRsi] != 0 && r[kRdi] != 32 && r[kRdi] != 33) {
        Miss(c, "a signal handler was installed", exit.target);
      }
      break;
    case SYS_rt_sigreturn:
      Miss(c, "a signal frame was left by the region itself", exit.target);
      break;
    default:
      break;
  }
  const std::uint64_t next = exit.target;
  c->go_to = AddressOf(exit.resume);
  if (flush) Flush(c);
  if (flush || child) c->go_to = AddressOf(EmitSystemCall(c, next, child));
}

// dl_iterate_phdr's callback: the executable segment that holds GOMP_parallel.
int FindRuntime(dl_phdr_info* object, std::size_t, void*) {
  for (int k = 0; k < object->dlpi_phnum; ++k) {
    const auto& segment = object->dlpi_phdr[k];
    const std::uint64_t low = object->dlpi_addr + segment.p_vaddr;
    const std::uint64_t high = low + segment.p_memsz;
    const auto inside = [=](std::uint64_t address) { return address >= low && address < high; };
    if (segment.p_type != PT_LOAD || !inside(team_address[0])) continue;
    if (inside(AddressOf(&RunTeamCall))) return 1;  // linked into this very program
    runtime_low = low;
    runtime_high = high;
    return 1;
  }
  return 0;
}

}  // namespace

bool IsTeamRuntime(std::uint64_t address) noexcept {
  return address >= runtime_low && address < runtime_high;
}

void PrepareSpecialAddresses() {
  for (std::size_t k = 0; k < kTeams; ++k) {
    team_address[k] = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, kTeamNames[k]));
  }
  dl_iterate_phdr(FindRuntime, nullptr);
}

bool IsSpecial(std::uint64_t address) noexcept {
  return address == AddressOf(&TopdnnExactStop) || address == AddressOf(&RunTeamCall) ||
         std::find(team_address, team_address + kTeams, address) != team_address + kTeams;
}

void Miss(Context* c, const char* what, std::uint64_t address) noexcept {
  if (c->incomplete != nullptr) return;
  c->incomplete = what;
  c->incomplete_address = address;
}

}  // namespace topdnn

void TopdnnExactDispatch(topdnn::Context* c) noexcept {
  using namespace topdnn;  // NOLINT: this file's own
  const int saved_errno = errno;
  const Exit exit = c->exits[c->exit];
  bool chain = false;
  if (exit.kind == Exit::kLink || exit.kind == Exit::kIndirect) FollowChanges(c);
  const std::uint64_t generation = c->generation;
  switch (exit.kind) {
    case Exit::kLink:
      c->go_to = Resolve(c, exit.target, &chain);
      if (chain && generation == c->generation) {
        PatchLink(c, exit, PointerTo<const std::uint8_t>(c->go_to));
      }
      break;
    case Exit::kIndirect: {
      const std::uint64_t target = c->branch_target;
      c->go_to = Resolve(c, target, &chain);
      if (!chain) break;
      LookupSet& set = c->lookup[target & (kLookupSets - 1)];
      if (set.minus_address0 != 0) {
        set.minus_address1 = set.minus_address0;
        set.code1 = set.code0;
      }
      set.minus_address0 = -target;
      set.code0 = c->go_to;
      break;
    }
    case Exit::kSystemCall:
      BeforeSystemCall(c, exit);
      break;
    case Exit::kTile:
      FoldTiles(c);
      c->go_to = reinterpret_cast<std::uint64_t>(exit.resume);
      break;
  }
  errno = saved_errno;
}

#endif  // __x86_64__
