#if defined(__x86_64__)

#include "harness/exact/state.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "harness/exact/emitter.h"
#include "harness/exact/signals.h"
#include "harness/exact/threads.h"

// Labels in the assembly of dispatch.cc and signals.cc.
extern "C" {
extern const std::uint8_t TopdnnExactSlowPath[], TopdnnExactSaved[], TopdnnExactBlocked[],
    TopdnnExactLeave[], TopdnnExactMask[], TopdnnExactUnblock[], TopdnnExactSlowPathEnd[];
extern const std::uint8_t TopdnnExactOnSignal[], TopdnnExactSignalSaved[],
    TopdnnExactOnSignalBlocked[];
}

namespace topdnn {

namespace {

class State {
 public:
  State(Context* c, ucontext_t* state) : c_(c), registers_(state->uc_mcontext.gregs) {}

  std::uint64_t rip() const { return Bits(registers_[REG_RIP]); }
  std::uint64_t Get(int r) const { return Bits(registers_[kSavedAs[r]]); }
  void Set(int r, std::uint64_t value) { registers_[kSavedAs[r]] = static_cast<greg_t>(value); }
  void GoTo(std::uint64_t address) { registers_[REG_RIP] = static_cast<greg_t>(address); }
  bool In(const std::uint8_t* low, const std::uint8_t* high) const {
    return rip() >= AddressOf(low) && rip() < AddressOf(high);
  }
  void Unspill(int mask) {
    if ((mask & kFlagsInRax) != 0) {
      constexpr std::uint64_t kOverflow = 1 << 11;
      constexpr std::uint64_t kByLahf = 0xd5;  // SF, ZF, AF, PF, CF
      const std::uint64_t rax = Get(kRax);
      const std::uint64_t flags = Bits(registers_[REG_EFL]) & ~(kOverflow | kByLahf);
      registers_[REG_EFL] = static_cast<greg_t>(flags | (rax >> 8 & kByLahf) | (rax & 1) << 11);
    }
    for (int r = 0; r < 3; ++r) {
      if ((mask >> r & 1) != 0) Set(r, c_->spill[r]);
    }
  }
  // Takes the registers that the dispatcher saved.
  void TakeSaved() {
    for (int r = 0; r < 16; ++r) Set(r, c_->registers[r]);
  }

 private:
  static std::uint64_t Bits(greg_t value) { return static_cast<std::uint64_t>(value); }

  Context* c_;
  greg_t* registers_;
};

// Subtracts the instructions in [address, end), which were counted but not executed.
void Uncount(Context* c, std::uint64_t address, std::uint64_t end) {
  Tally rest;
  Instruction& i = c->decoded[0];
  const std::uint64_t start = address;
  for (; address < end; address = i.end()) {
    Decode(address, &i);
    if (i.raw.length == 0) return;
    Classify(i, &rest);
  }
  c->counts->Add(rest, ~std::uint64_t{0});  // minus once
  if (IsTeamRuntime(start)) {
    c->counts->openmp_instructions -= rest.instructions;
    c->counts->openmp_slow_instructions -= rest.slow_instructions;
    c->counts->openmp_branches -= rest.conditional_branches + rest.indirect_branches;
  }
}

// Takes back one taken execution of the branch, and adds `not_taken` executions that were not
// taken.
void CorrectBranch(Context* c, std::uint64_t address, std::uint64_t not_taken) {
  c->counts->conditional_taken -= 1;
  if (c->branches.count < kMaxItems) c->branches.Add({address, ~std::uint64_t{0}, not_taken});
}

// Corrects the counts at `mark` to what was executed.
void CorrectCounts(Context* c, const Mark& mark, std::uint64_t rcx) {
  if (mark.rep != 0) c->counters.items[mark.rep] += rcx;
  if (mark.alone) Uncount(c, mark.address, mark.address + 1);
  const Block* block = mark.block == kNone ? nullptr : &c->blocks.items[mark.block];
  const bool begun = block != nullptr && (mark.whole || mark.address != block->start);
  if (!begun) {
    if (block != nullptr && mark.counted) --c->counters.items[block->counter];
    // Execution continues at the code after the branch by a path that does not count the branch.
    if (mark.branch != 0 && (block != nullptr || !mark.counted)) {
      CorrectBranch(c, c->sites.items[mark.branch - 1].address, 1);
    }
    return;
  }
  if (!mark.counted) ++c->counters.items[block->counter];
  if (mark.whole) return;
  Uncount(c, mark.address, block->end);
  for (Site& site : c->sites) {
    if (site.block != block->counter || site.address < mark.address) continue;
    if (site.kind == Site::kTile) ++site.folded;
    if (site.kind == Site::kBranch) CorrectBranch(c, site.address, 0);
  }
}

// The signal arrived in a block: uses the block's mark.
void LeaveBlock(Context* c, State* state) {
  const auto place = static_cast<std::uint32_t>(state->rip() - AddressOf(c->code_begin));
  const Mark* next =
      std::upper_bound(c->marks.begin(), c->marks.end(), place,
                       [](std::uint32_t code, const Mark& mark) { return code < mark.code; });
  const Mark& mark = next[-1];  // every block begins with a mark
  state->Unspill(mark.spilled);
  if (mark.far != 0) state->Set(mark.far - 1, c->spill[3]);
  state->Set(kRsp, state->Get(kRsp) - static_cast<std::uint64_t>(std::int64_t{mark.popped}));
  CorrectCounts(c, mark, state->Get(kRcx));
  state->GoTo(mark.address);
}

// The signal arrived on the way to the dispatcher.
void LeaveByExit(Context* c, const Exit& exit, State* state) {
  std::uint64_t address = exit.kind == Exit::kIndirect ? c->branch_target : exit.target;
  if (exit.kind == Exit::kSystemCall) address -= 2;
  if (exit.kind == Exit::kSystemCall || exit.kind == Exit::kTile) Uncount(c, address, address + 1);
  state->GoTo(address);
}

// The signal arrived on the way from the dispatcher.
void Resume(Context* c, State* state) {
  state->Set(kRax, c->registers[kRax]);
  if (c->resume_counted) Uncount(c, c->resume, c->resume + 1);
  state->GoTo(c->resume);
}

// The signal arrived in the code that all blocks share.
void LeaveFixedCode(Context* c, State* state) {
  constexpr int kStub = 7 + 7 + 6;
  if (state->In(c->slow_stub, c->slow_stub + kStub)) {
    if (state->rip() != AddressOf(c->slow_stub)) state->Unspill(kRaxSpilled);
    LeaveByExit(c, c->exits.items[c->exit], state);
    return;
  }
  const auto* resume = PointerTo<const std::uint8_t>(c->resume_code);
  if (state->In(resume, resume + 7 + 6)) {
    Resume(c, state);
    return;
  }
  // In the look-up: see EmitFixedCode.
  const auto at = static_cast<std::int64_t>(state->rip() - AddressOf(c->lookup_code));
  std::uint64_t target = c->branch_target;
  if (at == 0) target = state->Get(kRcx) - state->Get(kRax);
  if (at == 3) target = state->Get(kRcx) + state->Get(kRax) + 1;
  if (at == 8) target = state->Get(kRcx);
  const bool has_rdx = at >= 0 && at < 8 + 7 + 7;
  state->Unspill(kRaxSpilled | kRcxSpilled | (has_rdx ? 0 : kRdxSpilled));
  state->GoTo(target);
}

// The signal arrived in a stub that leads to the dispatcher: "mov qword [exit], number; jmp".
void LeaveStub(Context* c, State* state) {
  const auto* code = PointerTo<const std::uint8_t>(state->rip());
  std::uint32_t number = 0;
  std::memcpy(&number, *code == 0xe9 ? code - 4 : code + 7, sizeof number);
  LeaveByExit(c, c->exits.items[number], state);
}

// The signal arrived at the start of OnSignal, before it blocks signals: a second signal came with
// the first or just after it. In a native run the second signal finds the first one's handler about
// to begin.
bool LeaveOnSignal(Context* c, State* state) {
  const std::uint64_t frame = state->Get(kRsp) + 8;
  if (!MakeNative(c, PointerTo<ucontext_t>(frame))) return false;
  const bool first = state->rip() == AddressOf(TopdnnExactOnSignal);
  if (!first) state->Set(kRdi, state->Get(kR8));
  if (!first && state->rip() >= AddressOf(TopdnnExactSignalSaved)) {
    state->Set(kRsi, state->Get(kR9));
  }
  state->Set(kRdx, frame);
  state->Set(kRax, 0);
  state->GoTo(HandlerOf(static_cast<int>(state->Get(kRdi))));
  return true;
}

}  // namespace

bool Defer(Context* c, int signal, siginfo_t* info, ucontext_t* saved) noexcept {
  if (c == nullptr || c->busy == 0) return false;
  State state(c, saved);
  // A second signal may arrive before the first one's OnSignal blocks signals. Then `saved` is the
  // state in OnSignal, and the frame on its stack has the state at the first signal. Both signals
  // are deferred.
  const bool second = state.In(TopdnnExactOnSignal, TopdnnExactOnSignalBlocked);
  const State found(c, second ? PointerTo<ucontext_t>(state.Get(kRsp) + 8) : saved);
  if (found.In(TopdnnExactSlowPath, TopdnnExactBlocked) ||
      found.In(TopdnnExactUnblock, TopdnnExactSlowPathEnd)) {
    return false;
  }
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal, info) != 0) {
    Miss(c, "a signal was lost while the dispatcher ran", 0);
  }
  c->deferred = 1;
  if (!second) std::memcpy(&c->mask, &saved->uc_sigmask, sizeof c->mask);
  std::memset(&saved->uc_sigmask, 0xff, sizeof c->mask);
  // The code that leaves the dispatcher may already have read `deferred`: it starts again.
  if (state.In(TopdnnExactLeave, TopdnnExactMask)) state.GoTo(AddressOf(TopdnnExactLeave));
  return true;
}

bool MakeNative(Context* c, ucontext_t* saved) noexcept {
  State state(c, saved);
  if (state.In(TopdnnExactOnSignal, TopdnnExactOnSignalBlocked)) return LeaveOnSignal(c, &state);
  if (state.In(TopdnnExactSlowPath, TopdnnExactBlocked)) {
    if (state.rip() >= AddressOf(TopdnnExactSaved)) state.TakeSaved();
    state.Unspill(kRaxSpilled);
    c->busy = 0;
    LeaveByExit(c, c->exits.items[c->exit], &state);
  } else if (state.In(TopdnnExactUnblock, TopdnnExactSlowPathEnd)) {
    c->busy = 0;
    state.TakeSaved();
    Resume(c, &state);
  } else if (state.In(c->code_begin, c->fixed_end)) {
    LeaveFixedCode(c, &state);
  } else if (state.In(c->fixed_end, c->code)) {
    LeaveBlock(c, &state);
  } else if (state.In(c->code_begin + kCodeBytes / 2, c->stubs)) {
    LeaveStub(c, &state);
  } else {
    return false;
  }
  // A system call that would have left a signal frame was not made: restores the frame.
  if (c->return_frame != 0 && c->return_frame == state.Get(kRsp) &&
      state.Get(kRax) == SYS_rt_sigreturn) {
    State(c, PointerTo<ucontext_t>(c->return_frame)).GoTo(c->return_address);
  }
  c->return_frame = 0;
  return true;
}

}  // namespace topdnn

#endif  // __x86_64__
