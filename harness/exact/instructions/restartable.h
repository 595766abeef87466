// Restartable sequences (rseq(2)): if the kernel interrupts one, it aborts it. The kernel
// recognizes a sequence by its address. Translated code has another address, so such a sequence
// runs natively.

#ifndef TOPDNN_HARNESS_EXACT_INSTRUCTIONS_RESTARTABLE_H_
#define TOPDNN_HARNESS_EXACT_INSTRUCTIONS_RESTARTABLE_H_

#include "harness/exact/instructions/decode.h"

namespace topdnn {

// Whether `instruction` loads the address of a sequence's descriptor, as programs do before the
// sequence.
bool NamesRestartable(const Instruction& instruction) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_INSTRUCTIONS_RESTARTABLE_H_
