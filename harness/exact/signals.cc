// When a signal arrives in translated code, its frame gets the state of a native run (see state.h).
// Its handler runs translated on the kernel's frame and with the kernel's mask, up to the system
// call that leaves the frame. So a handler may read and change the state, jump out, or be
// interrupted itself. If a signal arrives anywhere else, its handler runs natively.

#if defined(__x86_64__)

#include "harness/exact/signals.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>

#include "harness/exact/context.h"
#include "harness/exact/dispatch_turn.h"
#include "harness/exact/mappings.h"
#include "harness/exact/state.h"

extern "C" {
void TopdnnExactOnSignal(), TopdnnExactOnSignalBlocked(), TopdnnExactReturn(),
    TopdnnExactRestorer();
void TopdnnExactCareful();                                      // dispatch.cc
void TopdnnExactBegin(), TopdnnExactCall(), TopdnnExactLeft();  // context.cc
struct TopdnnExactHandling {
  topdnn::Context* context;  // null: run natively
  std::uint64_t handler;
};
__attribute__((used, visibility("hidden"))) TopdnnExactHandling TopdnnExactSignal(
    int signal, siginfo_t* info, ucontext_t* state, std::uint64_t mask) noexcept;
}

// The kernel enters here on the frame that it made for the handler. The old mask is saved in the
// red zone, which no other signal changes.
asm(R"(
  .text
  .irp label, OnSignal, SignalSaved, OnSignalBlocked, Return, Restorer
  .globl TopdnnExact\label
  .hidden TopdnnExact\label
  .endr
TopdnnExactOnSignal:
  mov %rdi, %r8
  mov %rsi, %r9
TopdnnExactSignalSaved:
  lea TopdnnExactAllSignals(%rip), %rsi
  xor %edi, %edi
  lea -16(%rsp), %rdx
  mov $8, %r10d
  mov $14, %eax
  syscall
TopdnnExactOnSignalBlocked:
  mov -16(%rsp), %rcx
  mov %r8, %rdi
  mov %r9, %rsi
  lea 8(%rsp), %rdx
  push %rdi
  push %rsi
  push %rdx
  call TopdnnExactSignal
  mov %rdx, %r11
  pop %rdx
  pop %rsi
  pop %rdi
  test %rax, %rax
  jnz TopdnnExactEnterHandler
  jmp *%r11
TopdnnExactReturn:
  ret
TopdnnExactRestorer:
  mov $15, %rax
  syscall
)");

namespace topdnn {

namespace {

// The kernel's layout.
struct KernelAction {
  std::uint64_t handler, flags, restorer, mask;
};

constexpr int kSignals = 64;
KernelAction original[kSignals + 1];
bool taken[kSignals + 1];

bool Exchange(int signal, const KernelAction* now, KernelAction* old) {
  return syscall(SYS_rt_sigaction, signal, now, old, sizeof now->mask) == 0;
}

bool IsHandler(std::uint64_t handler) { return handler > 1; }  // 0: default, 1: ignored

std::uint64_t OnSignal() { return AddressOf(&TopdnnExactOnSignal); }

// SIGSEGV is always taken, because a store to a guarded page raises it.
void Take(int signal, const KernelAction& action) {
  constexpr std::uint64_t kHasRestorer = 0x04000000;  // SA_RESTORER
  original[signal] = action;
  KernelAction ours = action;
  ours.handler = OnSignal();
  ours.flags |= SA_SIGINFO;
  if ((ours.flags & kHasRestorer) == 0) {
    ours.flags |= kHasRestorer;
    ours.restorer = AddressOf(&TopdnnExactRestorer);
  }
  taken[signal] =
      (IsHandler(action.handler) || signal == SIGSEGV) && Exchange(signal, &ours, nullptr);
}

// Continues after a store to a guarded page; translates the code again if it was translated.
void StoreAgain(Context* c, ucontext_t* state, std::uint64_t stored) {
  const std::uint64_t page = stored & ~std::uint64_t{4095};
  if (c == nullptr || !MakeNative(c, state)) {
    ForgetTargets(nullptr, page, page + 4096);
    return;
  }
  auto& rip = state->uc_mcontext.gregs[REG_RIP];
  const DispatchTurn turn(c);
  ForgetTargets(c, page, page + 4096);
  FollowChanges(c);
  const auto address = static_cast<std::uint64_t>(rip);
  const std::uint8_t* code = CodeFor(c, address);
  if (code == nullptr) Miss(c, "code that cannot be translated", address);
  if (code != nullptr) rip = static_cast<greg_t>(AddressOf(code));
}

// Whether the signal came before the region's first instruction or after its last, or another one
// that did has not blocked signals yet. No count is lost then. The region ends here, and begins
// again after the handler: a signal that interrupts the handler finds no region either.
bool LeaveEdge(Context* c, ucontext_t* state) {
  const auto in = [&state](void (*low)(), void (*high)()) {
    const auto rip = static_cast<std::uint64_t>(state->uc_mcontext.gregs[REG_RIP]);
    return rip >= AddressOf(low) && rip < AddressOf(high);
  };
  while (in(TopdnnExactOnSignal, TopdnnExactOnSignalBlocked)) {
    state =
        PointerTo<ucontext_t>(static_cast<std::uint64_t>(state->uc_mcontext.gregs[REG_RSP]) + 8);
  }
  if (!in(TopdnnExactCall, TopdnnExactLeft)) return false;
  c->entry_rsp = 0;
  auto& rip = state->uc_mcontext.gregs[REG_RIP];
  if (in(TopdnnExactCall, TopdnnExactStop)) rip = static_cast<greg_t>(AddressOf(&TopdnnExactBegin));
  return true;
}

}  // namespace

std::uint64_t HandlerOf(int signal) noexcept { return original[signal].handler; }

void TakeSignals() {
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelAction action = {};
    taken[signal] = false;
    if (Exchange(signal, nullptr, &action)) Take(signal, action);
  }
}

void FollowHandler(int signal, bool installed, void* old) noexcept {
  const KernelAction before = original[signal];
  auto* returned = static_cast<KernelAction*>(old);
  const bool ours = returned != nullptr && returned->handler == OnSignal();
  KernelAction now = {};
  if (installed && Exchange(signal, nullptr, &now)) Take(signal, now);
  if (ours) *returned = before;
}

void ReturnSignals() {
  ForgetGuards();
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelAction now = {};
    if (taken[signal] && Exchange(signal, nullptr, &now) && now.handler == OnSignal()) {
      Exchange(signal, &original[signal], nullptr);
    }
  }
}

}  // namespace topdnn

TopdnnExactHandling TopdnnExactSignal(int signal, siginfo_t* info, ucontext_t* state,
                                      std::uint64_t mask) noexcept {
  using namespace topdnn;  // NOLINT: this file's own namespace
  Context* c = CurrentContext();
  const std::uint64_t handler = HandlerOf(signal);
  if (Defer(c, signal, info, state)) return {nullptr, AddressOf(&TopdnnExactReturn)};
  if (signal == SIGSEGV && OpenGuard(AddressOf(info->si_addr))) {
    StoreAgain(c, state, AddressOf(info->si_addr));
    return {nullptr, AddressOf(&TopdnnExactReturn)};
  }
  if (!IsHandler(handler)) {  // SIGSEGV is raised again and then has its usual effect
    Exchange(signal, &original[signal], nullptr);
    if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), gettid(), signal);
    return {nullptr, AddressOf(&TopdnnExactReturn)};
  }
  const auto found = static_cast<std::uint64_t>(state->uc_mcontext.gregs[REG_RIP]);
  if (c != nullptr && MakeNative(c, state)) {
    // For SIGILL, SIGFPE and SIGTRAP, the address of the instruction.
    const auto native = static_cast<std::uint64_t>(state->uc_mcontext.gregs[REG_RIP]);
    if (info->si_code > 0 && info->si_addr == PointerTo<void>(found)) {
      info->si_addr = PointerTo<void>(native);
    }
    c->mask = mask;
    c->way_in = AddressOf(&TopdnnExactCareful);
    c->spill[0] = 0;
    c->branch_target = handler;
    c->exit = 0;
    return {c, handler};
  }
  if (c != nullptr && c->entry_rsp != 0 && !LeaveEdge(c, state)) {
    Miss(c, "a signal handler ran outside translation", found);
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof mask);
  return {nullptr, handler};
}

#endif  // __x86_64__
