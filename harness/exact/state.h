// Reconstructs the program's native state at a signal.

#ifndef TOPDNN_HARNESS_EXACT_STATE_H_
#define TOPDNN_HARNESS_EXACT_STATE_H_

#include <ucontext.h>

#include <csignal>

#include "harness/exact/context.h"

namespace topdnn {

// The ucontext_t index of each register, in the order of Context::registers.
inline constexpr int kSavedAs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                     REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15};

// Converts the state at a signal in translated code, or on the way to or from the dispatcher, into
// the state of a native run before its next instruction. Corrects the counts to what was executed.
// False, with nothing changed: the signal arrived elsewhere.
bool MakeNative(Context* c, ucontext_t* saved) noexcept;

// Whether a signal came while the dispatcher runs and signals are not blocked (dispatch.cc). If so,
// queues it again for this thread, and blocks all signals until the dispatcher ends.
bool Defer(Context* c, int signal, siginfo_t* info, ucontext_t* saved) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_STATE_H_
