// The signal handlers of a region.

#ifndef TOPDNN_HARNESS_EXACT_SIGNALS_H_
#define TOPDNN_HARNESS_EXACT_SIGNALS_H_

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

// From now on installed handlers are run translated; until the return.
void TakeSignals(Context* context);
void ReturnSignals();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_SIGNALS_H_
