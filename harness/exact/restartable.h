// Restartable sequences (rseq(2)): the kernel aborts one that it interrupts, which it knows by the
// address it interrupts. Translated code lies elsewhere, so such a sequence runs natively.

#ifndef TOPDNN_HARNESS_EXACT_RESTARTABLE_H_
#define TOPDNN_HARNESS_EXACT_RESTARTABLE_H_

#include "harness/exact/decode.h"

namespace topdnn {

// Whether `instruction` takes the address of a sequence's descriptor, as it does before it enters.
bool NamesRestartable(const Instruction& instruction) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_RESTARTABLE_H_
