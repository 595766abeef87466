// The state of the program at a signal: what the processor would hold had the code run natively.

#ifndef TOPDNN_HARNESS_EXACT_STATE_H_
#define TOPDNN_HARNESS_EXACT_STATE_H_

#include <ucontext.h>

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

// The number in ucontext_t of each register, in the order of Context::registers.
inline constexpr int kSavedAs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                     REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15};

// Turns what a signal found in translated code, or on its way to or from the dispatcher, into the
// state of a native run before its next instruction; counts what was executed and no more. False:
// the signal found something else, and nothing was changed.
bool MakeNative(Context* context, ucontext_t* state) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_STATE_H_
