// The way out of translated code and back: saves the whole state, finds or translates what comes
// next, chains it, returns.

#if defined(__x86_64__)

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>

#include "harness/exact/context.h"
#include "harness/exact/emitter.h"
#include "harness/exact/signals.h"
#include "harness/exact/threads.h"

extern "C" {
void TopdnnExactSlowPath();
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

constexpr std::uint64_t kVsyscall = 0xffffffffff600000U;

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

// Where `address` goes on; sets *chain when that place may be jumped to directly from now on.
std::uint64_t Resolve(Context* c, std::uint64_t address, bool* chain) {
  *chain = false;
  const std::uint64_t rsp = c->registers[kRsp];
  if (address == AddressOf(&TopdnnExactStop)) {
    *chain = true;
    return address;
  }
  const bool alternate = rsp >= c->alternate_low && rsp < c->alternate_high;
  if (rsp > c->entry_rsp && !alternate) {  // by an exception, longjmp or another stack
    Miss(c, "the region left translation", address);
    return address;
  }
  bool whole = true;  // what `address` stands for is the code that follows, and nothing else
  if ((address & ~std::uint64_t{0xc00}) == kVsyscall) {
    address = RunVsyscall(c, address);
    whole = false;
  } else if (IsSpecial(address)) {
    address = EnterTeam(c, address);
    whole = false;
  }
  if (const std::uint8_t* code = CodeFor(c, address)) {
    *chain = whole;
    return AddressOf(code);
  }
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

}  // namespace

}  // namespace topdnn

void TopdnnExactDispatch(topdnn::Context* c) noexcept {
  using namespace topdnn;  // NOLINT: this file's own
  const int saved_errno = errno;
  const Exit exit = c->exits[c->exit];
  if (exit.kind == Exit::kSystemCall) {
    BeforeSystemCall(c, exit);
  } else if (exit.kind == Exit::kTile) {
    FoldTiles(c);
    c->go_to = AddressOf(exit.resume);
  } else {
    FollowChanges(c);
    const std::uint64_t generation = c->generation;
    const std::uint64_t target = exit.kind == Exit::kLink ? exit.target : c->branch_target;
    bool chain = false;
    c->go_to = Resolve(c, target, &chain);
    if (chain && exit.kind == Exit::kIndirect) {
      auto& ways = c->lookup[target & (kLookupSets - 1)].ways;
      ways[1] = ways[0];
      ways[0] = {-target, c->go_to};
    }
    if (chain && exit.field != nullptr && generation == c->generation) {
      Patch(c, exit, target, PointerTo<const std::uint8_t>(c->go_to));
    }
  }
  errno = saved_errno;
}

#endif  // __x86_64__
