// The exact counter runs a region through a code-cache translator, in the same process and on the
// same stack, and counts every instruction retired in user space. It needs no PMU.
//
// The region computes the same result, bit for bit, as in a native run. It takes about 1.1 to 2
// times as long, so a counted pass is never timed. The method is dynamic binary translation with
// block counters, as in Pin and DynamoRIO (Luk et al., PLDI 2005; Bruening et al., CGO 2003).
//
// Teams of libgomp are counted completely: each worker translates its share of a parallel region.
// Instructions that a worker executes while it waits for its next share are not counted. If other
// code ran during the region, or if the region left translation, the count is marked as incomplete.

#ifndef TOPDNN_HARNESS_EXACT_COUNTER_H_
#define TOPDNN_HARNESS_EXACT_COUNTER_H_

#include <concepts>

#include "harness/counters/source.h"
#include "harness/exact/block_profile.h"
#include "harness/exact/instructions/counts.h"

namespace topdnn {

class ExactCounter {
 public:
  // Whether this machine and build can count, and if not, why. The first call makes a trial in a
  // child process (fork).
  static Availability Probe();

  // Runs function(argument) once and counts from its first instruction to its return. An exception
  // passes through after the process state is restored; its count is lost. Only one count can run
  // in a process: throws std::logic_error if one is running, on any thread, or if Probe() fails.
  // `blocks`: what the region executed block by block, if not null.
  static ExactCounts Count(void (*function)(void*), void* argument, BlockProfile* blocks = nullptr);

  // The same for any callable. The count includes the function that calls it.
  template <std::invocable Callable>
  static ExactCounts Count(Callable& callable, BlockProfile* blocks = nullptr) {
    return Count([](void* c) { (*static_cast<Callable*>(c))(); }, std::addressof(callable), blocks);
  }
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_COUNTER_H_
