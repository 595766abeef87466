// Signals, faults and system calls of a region: what they do to its code.

#ifndef TOPDNN_HARNESS_EXACT_SIGNALS_H_
#define TOPDNN_HARNESS_EXACT_SIGNALS_H_

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

// Pages both writable and executable are made read-only while translated, so that a write to code
// is noticed. False: there are too many.
bool GuardWritablePages(std::uint64_t low, std::uint64_t high) noexcept;
void MappingsChange(std::uint64_t low, std::uint64_t high) noexcept;
// Forgets what `context` translated when another thread has changed code since it last looked.
void FollowChanges(Context* context) noexcept;

// What a system call that is about to be made, with the context's registers, does to the region:
// its code changes, a thread or process begins.
struct CallEffects {
  bool changes_code, starts_child;
};
CallEffects BeforeSystemCall(Context* context, std::uint64_t address) noexcept;

// From now on installed handlers are run translated; until the return.
void TakeSignals(Context* context);
void ReturnSignals();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_SIGNALS_H_
