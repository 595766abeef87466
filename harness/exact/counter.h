// The exact counter: runs a region through a code-cache translator, in the process and on the
// thread's own stack, and counts every instruction it retires in user space. It needs no PMU.
//
// The region's result is bit for bit that of a native run; its time is not (some 1.1 to 2 times
// longer), so a counted pass is never a timed one. Method: dynamic binary translation with block
// counters, as Pin and DynamoRIO do it (Luk et al., PLDI 2005; Bruening et al., CGO 2003).
//
// Teams of libgomp are counted whole: each worker translates its share of a parallel region. What
// a worker executes while it waits between its shares is not part of the region. Whatever else ran
// beside the region, or left translation, makes the count incomplete, and the counts say so.

#ifndef TOPDNN_HARNESS_EXACT_COUNTER_H_
#define TOPDNN_HARNESS_EXACT_COUNTER_H_

#include <memory>

#include "harness/counters/source.h"
#include "harness/exact/counts.h"

namespace topdnn {

class ExactCounter {
 public:
  enum class Width {
    kAsIs,    // the OpenMP team that the region asks for
    kSingle,  // OpenMP held at one thread for the counted pass; `width_forced` says so
  };

  // Whether this machine and build can count; if not, why.
  static Availability Probe();

  // Runs function(argument) once, counted from its first instruction to its return. What it throws
  // passes through, after the machine state is back to normal (its count is then lost). One count
  // at a time in a process; a nested one throws std::logic_error, and so does an unavailable one.
  static ExactCounts Count(void (*function)(void*), void* argument, Width width = Width::kAsIs);

  // The same for any callable; its own call is one function deep and is counted with it.
  template <class Callable>
  static ExactCounts Count(Callable& callable, Width width = Width::kAsIs) {
    return Count([](void* c) { (*static_cast<Callable*>(c))(); }, std::addressof(callable), width);
  }
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_COUNTER_H_
