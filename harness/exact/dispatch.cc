// Leaves translated code and returns to it: saves the whole state, finds or translates the next
// code, links it to the exit, and restores the state.

#if defined(__x86_64__)

#include <ucontext.h>

#include <cerrno>
#include <cstring>

#include "harness/exact/context.h"
#include "harness/exact/dispatch_turn.h"
#include "harness/exact/emitter.h"
#include "harness/exact/mappings.h"
#include "harness/exact/signals.h"
#include "harness/exact/state.h"
#include "harness/exact/system_calls.h"
#include "harness/exact/threads.h"

extern "C" {
void TopdnnExactVsyscall();
__attribute__((used, visibility("hidden"))) void TopdnnExactDispatch(topdnn::Context* c) noexcept;
}

static_assert(offsetof(topdnn::Context, flags) == 128 && offsetof(topdnn::Context, spill) == 176 &&
                  offsetof(topdnn::Context, resume_code) == 208 &&
                  offsetof(topdnn::Context, way_in) == 240 &&
                  offsetof(topdnn::Context, busy) == 248 &&
                  offsetof(topdnn::Context, deferred) == 252,
              "the assembly below uses these offsets");

// A copy of the vsyscall page, which cannot be read: gettimeofday, time, getcpu.
asm(R"(
  .text
  .balign 16
TopdnnExactVsyscall:
  .irp number, 96, 201, 309
  mov $\number, %rax
  syscall
  ret
  .balign 16
  .endr
)");

// On entry, rax holds the context and spill[0] the program's rax. The dispatcher has its own stack,
// because the program's may be full and its red zone is in use.
//
// No handler of the program may run meanwhile: its frame would be on the dispatcher's stack.
// Blocking signals takes two system calls, which is slow for a small region. So the dispatcher only
// sets `busy` at first (Quick). A signal that comes while it is set is queued again and blocked
// (signals.cc), and the way out then restores the mask and receives it (Mask). Once a handler runs
// in a region, the thread blocks signals in each dispatch (Careful), because the handler may use
// the alternate stack, where the kernel would overwrite it.
//
// Up to Blocked and from Unblock on, the stack and the flags are the program's, and MakeNative
// (state.cc) takes the other registers from where they are saved. `iretq` sets flags, stack and
// instruction pointer at once, and serializes after the cache was written.
asm(R"(
  .macro save_registers
  .set place, 8
  .irp r, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
  mov %\r, place(%rax)
  .set place, place + 8
  .endr
  .endm
  .macro leave_to place
  mov %ss, %ecx
  push %rcx
  push 32(%rbx)
  push 128(%rbx)
  mov %cs, %ecx
  push %rcx
  lea \place(%rip), %rdx
  push %rdx
  .endm
  .macro hidden_labels labels:vararg
  .irp label, \labels
  .globl TopdnnExact\label
  .hidden TopdnnExact\label
  .endr
  .endm
  hidden_labels SlowPath, Saved, Quick, Careful, Blocked, Leave, Mask, Unblock, SlowPathEnd
  hidden_labels EnterHandler, AllSignals

  .section .rodata
  .balign 8
TopdnnExactAllSignals:
  .quad -1

  .text
TopdnnExactSlowPath:
  save_registers
TopdnnExactSaved:
  mov %rax, %rbx
  jmp *240(%rbx)
TopdnnExactQuick:
  movl $1, 248(%rbx)
  jmp TopdnnExactBlocked
TopdnnExactCareful:
  mov $0, %edi
  lea TopdnnExactAllSignals(%rip), %rsi
  lea 168(%rbx), %rdx
  mov $8, %r10d
  mov $14, %eax
  syscall
  movl $1, 252(%rbx)
TopdnnExactBlocked:
  mov 176(%rbx), %rcx
  mov %rcx, (%rbx)
  mov 144(%rbx), %rsp
  pushfq
  popq 128(%rbx)
  cld
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
TopdnnExactLeave:
  mov 144(%rbx), %rsp
  cmpl $0, 252(%rbx)
  jne TopdnnExactMask
  leave_to TopdnnExactQuickEnd
  iretq
TopdnnExactMask:
  movl $0, 252(%rbx)
  mov $2, %edi
  lea 168(%rbx), %rsi
  mov $8, %r10d
  leave_to TopdnnExactUnblock
  mov $0, %edx
  mov $14, %eax
  iretq
TopdnnExactUnblock:
  syscall
TopdnnExactQuickEnd:
  movl $0, 248(%rbx)
  mov %rbx, %rax
  .set place, 8
  .irp r, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
  mov place(%rax), %\r
  .set place, place + 8
  .endr
  jmp *208(%rax)
TopdnnExactSlowPathEnd:

TopdnnExactEnterHandler:
  save_registers
  mov %rax, %rbx
  movl $1, 252(%rbx)
  jmp TopdnnExactBlocked
)");

namespace topdnn {

namespace {

constexpr std::uint64_t kVsyscall = 0xffffffffff600000U;

// Returns the address where execution continues for `address`, given the context's registers. Sets
// *chain if translated code may jump there directly from now on.
std::uint64_t Resolve(Context* c, std::uint64_t address, bool* chain) {
  c->resume = address;
  *chain = address == AddressOf(&TopdnnExactStop);
  if (*chain) return address;
  const std::uint64_t rsp = c->registers[kRsp];
  const bool alternate = rsp >= c->alternate_low && rsp < c->alternate_high;
  if (rsp > c->entry_rsp && !alternate) {  // after an exception, longjmp or a stack switch
    Miss(c, "the region left translation", address);
    return address;
  }
  const std::uint64_t asked = address;
  if (IsSpecial(address)) c->resume = address = EnterTeam(c, address);
  if ((address & ~std::uint64_t{0xc00}) == kVsyscall) {
    address = AddressOf(&TopdnnExactVsyscall) + (address >> 10 & 3) * 16;
  }
  const std::uint8_t* code = CodeFor(c, address);
  *chain = code != nullptr && address == asked && !IsSpecial(asked);
  if (code != nullptr) return AddressOf(code);
  Miss(c, "an instruction that cannot be translated; the rest ran uncounted", address);
  return address;
}

// Continues at `target` and links the exit to it where possible. `generation`: of the code cache
// when the exit was taken; a flush leaves nothing of it.
void GoOn(Context* c, const Exit& exit, std::uint64_t generation, std::uint64_t target) {
  FollowChanges(c);
  bool chain = false;
  c->go_to = Resolve(c, target, &chain);
  if (chain && exit.kind == Exit::kIndirect) {
    auto& ways = c->lookup[target & (kLookupSets - 1)].ways;
    ways[1] = ways[0];
    ways[0] = {-target, c->go_to};
  }
  if (chain && exit.field != nullptr && exit.kind != Exit::kSystemCall &&
      generation == c->generation) {
    Patch(c, exit, target, PointerTo<const std::uint8_t>(c->go_to));
  }
}

// Changes the signal frame that the region is about to leave so that it returns to translated code.
void PrepareReturn(Context* c) {
  c->return_frame = c->registers[kRsp];
  auto* registers = PointerTo<ucontext_t>(c->return_frame)->uc_mcontext.gregs;
  std::uint64_t handlers[16];
  std::memcpy(handlers, c->registers, sizeof handlers);
  for (int r = 0; r < 16; ++r) {
    c->registers[r] = static_cast<std::uint64_t>(registers[kSavedAs[r]]);
  }
  FollowChanges(c);
  bool chain = false;
  const auto native = static_cast<std::uint64_t>(registers[REG_RIP]);
  registers[REG_RIP] = static_cast<greg_t>(Resolve(c, native, &chain));
  c->return_address = c->resume;
  registers[REG_RDI] = static_cast<greg_t>(c->registers[kRdi]);  // a team may begin there
  registers[REG_RSI] = static_cast<greg_t>(c->registers[kRsi]);
  std::memcpy(c->registers, handlers, sizeof handlers);
}

// Emits a copy of a system call that is already counted, because the call is special or its block
// is gone.
void EmitCountedCall(Context* c, std::uint64_t next, ChildOf child) {
  c->go_to = AddressOf(c->code);
  c->mark = {.code = 0, .address = next - 2, .alone = true};
  Emitter(c).Mark();
  EmitSystemCall(c, next, child);
}

// Prepares a system call. True: the dispatcher already made it.
bool DispatchCall(Context* c, const Exit& exit) {
  const std::uint64_t generation = c->generation;
  const CallKind kind = PrepareSystemCall(c, exit.target);
  FollowChanges(c);  // the preparation may have opened guarded pages
  switch (kind) {
    case CallKind::kMade:
      return true;
    case CallKind::kStartsThread:
      EmitCountedCall(c, exit.target, ChildOf::kCallThatSharesMemory);
      return false;
    case CallKind::kStartsProcess:
      EmitCountedCall(c, exit.target, ChildOf::kCallThatCopiesMemory);
      return false;
    case CallKind::kLeavesHandler:
      PrepareReturn(c);
      if (c->generation != generation) EmitCountedCall(c, exit.target, ChildOf::kNoCall);
      return false;
    default:
      if (c->generation != generation) EmitCountedCall(c, exit.target, ChildOf::kNoCall);
      return false;
  }
}

void Dispatch(Context* c) {
  const Exit exit = c->exits.items[c->exit];
  const std::uint64_t generation = c->generation;
  c->go_to = AddressOf(exit.field);
  c->return_frame = 0;
  c->resume_counted = true;
  switch (exit.kind) {
    case Exit::kTile:
      FoldTiles(c);
      c->resume = exit.target;
      return;
    case Exit::kSystemCall:
      if (DispatchCall(c, exit)) break;
      c->resume = exit.target - 2;
      return;
    case Exit::kChild:  // a child process runs natively
      ReturnSignals();
      CurrentContext() = nullptr;
      c->go_to = exit.target;
      return;
    case Exit::kStale:
      DropBlock(c, exit.target);
      break;
    default:
      break;
  }
  c->resume_counted = false;
  GoOn(c, exit, generation, exit.kind == Exit::kIndirect ? c->branch_target : exit.target);
}

}  // namespace

}  // namespace topdnn

void TopdnnExactDispatch(topdnn::Context* c) noexcept {
  const int saved_errno = errno;
  {
    const topdnn::DispatchTurn turn(c);
    topdnn::Dispatch(c);
  }
  errno = saved_errno;
}

#endif  // __x86_64__
