// Signals and faults during a region, and the changes of code that they and system calls announce.

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

// From now on installed handlers are run translated; until the return.
void TakeSignals(Context* context);
void ReturnSignals();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_SIGNALS_H_
