// The way out of translated code and back: saves the whole state, finds or translates what comes
// next, chains it, returns.

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
void TopdnnExactSlowPath();
void TopdnnExactVsyscall();
__attribute__((used, visibility("hidden"))) void TopdnnExactDispatch(topdnn::Context* c) noexcept;
}

static_assert(offsetof(topdnn::Context, flags) == 128 && offsetof(topdnn::Context, spill) == 176 &&
                  offsetof(topdnn::Context, resume_code) == 208,
              "the assembly below uses these offsets");

// The vsyscall page can be neither read nor copied; this is what it holds: gettimeofday, time,
// getcpu.
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

// Entry: rax = context, the program's rax in spill[0]. The dispatcher runs on a stack of its own:
// the program's may be full, and its red zone is in use. Signals are blocked meanwhile, for the
// kernel would put a handler's frame there; where they are not yet or no more, the stack and the
// flags are the program's, and MakeNative (state.cc) takes the rest from where it is saved. `iretq`
// sets flags, stack and place at once, and serializes after the code cache was written.
asm(R"(
  .macro save_registers
  .set place, 8
  .irp r, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
  mov %\r, place(%rax)
  .set place, place + 8
  .endr
  .endm
  .irp label, SlowPath, Saved, Blocked, Unblock, SlowPathEnd, EnterHandler, AllSignals
  .globl TopdnnExact\label
  .hidden TopdnnExact\label
  .endr

  .section .rodata
  .balign 8
TopdnnExactAllSignals:
  .quad -1

  .text
TopdnnExactSlowPath:
  save_registers
TopdnnExactSaved:
  mov %rax, %rbx
  mov $0, %edi
  lea TopdnnExactAllSignals(%rip), %rsi
  lea 168(%rbx), %rdx
  mov $8, %r10d
  mov $14, %eax
  syscall
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
  mov $2, %edi
  lea 168(%rbx), %rsi
  mov $8, %r10d
  mov %ss, %ecx
  push %rcx
  push 32(%rbx)
  push 128(%rbx)
  mov %cs, %ecx
  push %rcx
  lea TopdnnExactUnblock(%rip), %rdx
  push %rdx
  mov $0, %edx
  mov $14, %eax
  iretq
TopdnnExactUnblock:
  syscall
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
  jmp TopdnnExactBlocked
)");

namespace topdnn {

namespace {

constexpr std::uint64_t kVsyscall = 0xffffffffff600000U;

// Where `address` goes on, with the context's registers; sets *chain when that place may be jumped
// to directly from now on.
std::uint64_t Resolve(Context* c, std::uint64_t address, bool* chain) {
  c->resume = address;
  *chain = address == AddressOf(&TopdnnExactStop);
  if (*chain) return address;
  const std::uint64_t rsp = c->registers[kRsp];
  const bool alternate = rsp >= c->alternate_low && rsp < c->alternate_high;
  if (rsp > c->entry_rsp && !alternate) {  // by an exception, longjmp or another stack
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
  Miss(c, "an instruction that cannot be followed; the rest ran uncounted", address);
  return address;
}

// Goes on with `target`, and chains the exit to it where that can be done.
void GoOn(Context* c, const Exit& exit, std::uint64_t target) {
  FollowChanges(c);
  const std::uint64_t generation = c->generation;
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

// Makes the signal frame that the region is about to leave lead to translated code.
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
  registers[REG_RDI] = static_cast<greg_t>(c->registers[kRdi]);  // (a team may begin there)
  registers[REG_RSI] = static_cast<greg_t>(c->registers[kRsi]);
  std::memcpy(c->registers, handlers, sizeof handlers);
}

// Emits another copy of a system call that was counted: of one that differs, or whose block is
// gone.
void EmitCountedCall(Context* c, std::uint64_t next, ChildOf child) {
  c->go_to = AddressOf(c->code);
  c->mark = {.code = 0, .address = next - 2, .alone = true};
  Emitter(c).Mark();
  EmitSystemCall(c, next, child);
}

// Prepares a system call; whether the dispatcher has made it.
bool DispatchCall(Context* c, const Exit& exit) {
  const std::uint64_t generation = c->generation;
  const CallKind kind = PrepareSystemCall(c, exit.target);
  FollowChanges(c);  // (guarded pages may have been opened)
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
    case Exit::kChild:  // a process of its own, which runs natively
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
  GoOn(c, exit, exit.kind == Exit::kIndirect ? c->branch_target : exit.target);
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
