#if defined(__x86_64__)

#include "harness/exact/system_calls.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <span>

#include "harness/exact/dispatch_turn.h"
#include "harness/exact/emitter.h"
#include "harness/exact/mappings.h"
#include "harness/exact/signals.h"

namespace topdnn {

namespace {

constexpr std::uint64_t kWhole = ~std::uint64_t{0};
constexpr std::uint64_t kPageBytes = 4096;  // calls change whole pages, also for shorter lengths

// Makes the system call and sets the registers as the kernel does.
void Make(Context* c, std::uint64_t next) {
  std::uint64_t* r = c->registers;
  register std::uint64_t r10 asm("r10") = r[kR10];
  register std::uint64_t r8 asm("r8") = r[kR8];
  register std::uint64_t r9 asm("r9") = r[kR9];
  asm volatile("syscall"
               : "+a"(r[kRax])
               : "D"(r[kRdi]), "S"(r[kRsi]), "d"(r[kRdx]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  r[kRcx] = next;
  r[kR11] = c->flags;
}

// Makes a call that changes the mappings of [low, high). Notes the change before and after it: code
// that a thread translates during the call may be old or new.
CallKind Remap(Context* c, std::uint64_t next, std::uint64_t low, std::uint64_t high) {
  NoteMappingChange(low, high);
  ForgetPages(low, high);
  Make(c, next);
  NoteMappingChange(low, high);
  ForgetTargets(c, low, high);
  return CallKind::kMade;
}

CallKind StartChild(Context* c, std::uint64_t flags) {
  ++c->children;
  return (flags & CLONE_VM) != 0 ? CallKind::kStartsThread : CallKind::kStartsProcess;
}

void OpenAll(Context* c) {
  OpenGuards();
  ForgetTargets(c, 0, kWhole);
}

constexpr long kWriteNoCode[] = {SYS_futex,   SYS_sched_yield, SYS_mmap,        SYS_munmap,
                                 SYS_mremap,  SYS_mprotect,    SYS_madvise,     SYS_brk,
                                 SYS_write,   SYS_close,       SYS_getpid,      SYS_gettid,
                                 SYS_getppid, SYS_tgkill,      SYS_rt_sigreturn};
// These write less than a page, at an address in a register.
constexpr long kWriteLittle[] = {SYS_rt_sigprocmask,   SYS_rt_sigaction, SYS_sigaltstack,
                                 SYS_clock_gettime,    SYS_nanosleep,    SYS_clock_nanosleep,
                                 SYS_sched_getaffinity};

// Opens guarded pages to which the kernel may write during a call.
void OpenFor(Context* c) {
  const std::uint64_t* r = c->registers;
  const auto is_one_of = [call = static_cast<long>(r[kRax])](std::span<const long> calls) {
    return std::find(calls.begin(), calls.end(), call) != calls.end();
  };
  if (!GuardsAt(nullptr, 0) || is_one_of(kWriteNoCode)) return;
  const std::uint64_t arguments[] = {r[kRdi], r[kRsi], r[kRdx], r[kR10]};
  if (!is_one_of(kWriteLittle) || GuardsAt(arguments, 4)) OpenAll(c);
}

}  // namespace

CallKind PrepareSystemCall(Context* c, std::uint64_t next) noexcept {
  const std::uint64_t* r = c->registers;
  OpenFor(c);
  const std::uint64_t low = r[kRdi];
  const std::uint64_t high = (low + r[kRsi] + kPageBytes - 1) & ~(kPageBytes - 1);
  switch (r[kRax]) {
    case SYS_mmap: {
      // A shared mapping of a file may write to code of that file that is mapped elsewhere.
      const bool fixed = (r[kR10] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
      const bool shares = (r[kR10] & MAP_TYPE) != MAP_PRIVATE && (r[kR10] & MAP_ANONYMOUS) == 0;
      if (shares) return Remap(c, next, 0, kWhole);
      return fixed ? Remap(c, next, low, high)
                   : Remap(c, next, 0, 0);  // not fixed: the range was free
    }
    case SYS_mremap:
      if ((r[kR10] & MREMAP_FIXED) == 0) return Remap(c, next, low, high);
      return Remap(c, next, 0, kWhole);
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return Remap(c, next, low, high);
    case SYS_remap_file_pages:
    case SYS_shmat:
    case SYS_shmdt:
      return Remap(c, next, 0, kWhole);
    case SYS_madvise:  // may clear pages
      if (!HoldsTranslatedCode(c, low, high)) break;
      return Remap(c, next, low, high);
    case SYS_clone:
      return StartChild(c, r[kRdi]);
    case SYS_clone3:
      return StartChild(c, *PointerTo<const std::uint64_t>(r[kRdi]));
    case SYS_fork:
      return StartChild(c, 0);
    case SYS_vfork:
      return StartChild(c, CLONE_VM);
    case SYS_rt_sigaction:
      Make(c, next);
      if (r[kRax] == 0) {
        FollowHandler(static_cast<int>(r[kRdi]), r[kRsi] != 0, PointerTo<void>(r[kRdx]));
      }
      return CallKind::kMade;
    case SYS_rt_sigreturn:
      return CallKind::kLeavesHandler;
    default:
      break;
  }
  return CallKind::kPlain;
}

}  // namespace topdnn

#endif  // __x86_64__
