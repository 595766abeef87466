// The regularity of a conditional branch, which a predictor learns: its executions are pairs of
// runs, so many taken ones and so many that are not (ExecutedBranch).
//
// The taken path needs no code: between two executions that were not taken, the branch's block was
// executed once more than it was taken.

#if defined(__x86_64__)

#include "harness/exact/context.h"
#include "harness/exact/emitter.h"

namespace topdnn {

// (The flags stay as they are. jrcxz reaches 127 bytes.)
void EmitRuns(Context* c, Site* branch) noexcept {
  if (!CurrentTranslation().counts) return;
  branch->runs = c->counters.count;
  c->counters.count += kRunCounters;
  std::uint64_t* const runs = c->counters.items + branch->runs;
  Emitter e(c);
  e.SpillAll();
  e.Load(kRax, &c->counters.items[branch->block]);
  e.Load(kRcx, &runs[kSeen]);
  e.Bytes({0x48, 0x8d, 0x4c, 0x01, 0xff});  // lea rcx, [rcx + rax - 1]: the taken ones
  e.Negate(kRax);
  e.Store(&runs[kSeen], kRax);
  e.Bytes({0xe3, 2, 0xeb, 5, 0xe9});  // jrcxz to the jump; jmp over it; jmp to the end
  const std::uint8_t* const none_taken = c->code;
  e.U32(0);

  e.Store(&runs[kScratch], kRcx);
  e.Load(kRdx, &c->counters.items[branch->own]);
  e.Load(kRax, &runs[kSeenNotTaken]);
  e.Bytes({0x48, 0x8d, 0x04, 0x10});  // lea rax, [rax + rdx]: those not taken
  e.Negate(kRdx);
  e.Store(&runs[kSeenNotTaken], kRdx);
  const auto* const scratch = reinterpret_cast<const std::uint8_t*>(&runs[kScratch]);
  e.Bytes({0x89, 0x05});  // mov [scratch + 4], eax: both lengths in 64 bits
  e.Displacement(scratch + 4);
  e.AddOne(&runs[kPairs], kRcx);
  e.Load(kRax, scratch);
  e.Load(kRcx, &runs[kPair]);
  e.Bytes({0x48, 0x8d, 0x0c, 0x01, 0xe3, 7 + 4 + 7});  // lea rcx, [rcx + rax]; jrcxz over AddOne
  e.AddOne(&runs[kIrregular], kRcx);
  e.Negate(kRax);
  e.Store(&runs[kPair], kRax);

  e.SetField(none_taken, c->code);
  e.UnspillAll();
}

}  // namespace topdnn

#endif  // __x86_64__
