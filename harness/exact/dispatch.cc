// The way out of translated code and back: saves the whole state, finds or translates what comes
// next, chains it, returns.

#if defined(__x86_64__)

#include <cerrno>

#include "harness/exact/context.h"
#include "harness/exact/emitter.h"
#include "harness/exact/mappings.h"
#include "harness/exact/system_calls.h"
#include "harness/exact/threads.h"

extern "C" {
void TopdnnExactSlowPath();
void TopdnnExactVsyscall();
__attribute__((used, visibility("hidden"))) void TopdnnExactDispatch(topdnn::Context* c) noexcept;
}

static_assert(offsetof(topdnn::Context, flags) == 128 && offsetof(topdnn::Context, spill) == 168,
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
// the program's may be full, and its red zone is in use. `iretq` restores flags, stack and place at
// once, and serializes after the code cache was written.
asm(R"(
  .text
  .globl TopdnnExactSlowPath
  .hidden TopdnnExactSlowPath
TopdnnExactSlowPath:
  .set place, 8
  .irp r, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
  mov %\r, place(%rax)
  .set place, place + 8
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
  .set place, 8
  .irp r, rcx, rdx, rbx, rcx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
  mov place(%rax), %\r
  .set place, place + 8
  .endr
  mov 8(%rax), %rcx
  mov (%rax), %rax
  iretq
)");

namespace topdnn {

namespace {

constexpr std::uint64_t kVsyscall = 0xffffffffff600000U;

// Where `address` goes on; sets *chain when that place may be jumped to directly from now on.
std::uint64_t Resolve(Context* c, std::uint64_t address, bool* chain) {
  *chain = address == AddressOf(&TopdnnExactStop);
  if (*chain) return address;
  const std::uint64_t rsp = c->registers[kRsp];
  const bool alternate = rsp >= c->alternate_low && rsp < c->alternate_high;
  if (rsp > c->entry_rsp && !alternate) {  // by an exception, longjmp or another stack
    Miss(c, "the region left translation", address);
    return address;
  }
  const std::uint64_t asked = address;
  if (IsSpecial(address)) address = EnterTeam(c, address);
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

void Dispatch(Context* c) {
  const Exit exit = c->exits.items[c->exit];
  c->go_to = AddressOf(exit.field);
  switch (exit.kind) {
    case Exit::kTile:
      FoldTiles(c);
      return;
    case Exit::kSystemCall: {
      const CallKind call = PrepareSystemCall(c, exit.target);
      if (call == CallKind::kMade) break;
      if (call == CallKind::kPlain) return;
      c->go_to = AddressOf(c->code);
      EmitSystemCall(c, exit.target, true);
      return;
    }
    case Exit::kStale:
      DropBlock(c, exit.target);
      break;
    default:
      break;
  }
  GoOn(c, exit, exit.kind == Exit::kIndirect ? c->branch_target : exit.target);
}

}  // namespace

}  // namespace topdnn

void TopdnnExactDispatch(topdnn::Context* c) noexcept {
  const int saved_errno = errno;
  topdnn::Dispatch(c);
  errno = saved_errno;
}

#endif  // __x86_64__
