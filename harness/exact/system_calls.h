// System calls of a region: their effect on its code, its handlers and its threads.

#ifndef TOPDNN_HARNESS_EXACT_SYSTEM_CALLS_H_
#define TOPDNN_HARNESS_EXACT_SYSTEM_CALLS_H_

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

enum class CallKind {
  kPlain,  // translated code makes the call, also for the next three
  kStartsThread,
  kStartsProcess,  // with a copy of the memory
  kLeavesHandler,
  kMade,  // the dispatcher made the call; its result is in the context's registers
};

// Prepares the system call in the context's registers. `next`: the address after it.
CallKind PrepareSystemCall(Context* context, std::uint64_t next) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_SYSTEM_CALLS_H_
