// The system calls of a region: what they do to its code, its handlers and its threads.

#ifndef TOPDNN_HARNESS_EXACT_SYSTEM_CALLS_H_
#define TOPDNN_HARNESS_EXACT_SYSTEM_CALLS_H_

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

enum class CallKind {
  kPlain,  // translated code makes it; so it does the following three
  kStartsThread,
  kStartsProcess,  // that has a copy of the memory
  kLeavesHandler,
  kMade,  // the dispatcher has made it: its result is in the context's registers
};

// Prepares the system call that the context's registers ask for; `next` is the address after it.
CallKind PrepareSystemCall(Context* context, std::uint64_t next) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_SYSTEM_CALLS_H_
