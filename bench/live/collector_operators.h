// The operators of PyTorch that a thread runs. Its profiler announces ranges, which are nested:
// operators ("aten::conv2d"), nodes of the backward pass ("autograd::engine::evaluate_function:
// ConvolutionBackward0"), and the program's own ("Optimizer.step#SGD.step"). The outermost operator
// is recorded.

#ifndef TOPDNN_BENCH_LIVE_COLLECTOR_OPERATORS_H_
#define TOPDNN_BENCH_LIVE_COLLECTOR_OPERATORS_H_

#include <stdint.h>

#include "bench/live/records.h"

struct Operators {
  int depth;      /* open ranges */
  int outer;      /* the depth of the outermost operator among them; 0: none */
  uint64_t begin; /* of the outermost operator */
  uint32_t name_bytes;
  char name[LIVE_MOST_NAME]; /* of the outermost operator */
};

/* Returns 1 if the outermost operator begins. The caller then sets `begin`. */
int BeginRange(struct Operators* operators, const char* name);
/* Returns 1 if the outermost operator ends. The caller then takes its name, and sets `outer` to 0.
 */
int EndRange(struct Operators* operators);

/* Lets PyTorch call the two functions in place of its own ones, which most builds lack. Returns 0
 * if the process has no PyTorch, or one without the function for it. */
int TakeRangesOfPyTorch(void (*begin)(const char* name), void (*end)(void));

#endif  // TOPDNN_BENCH_LIVE_COLLECTOR_OPERATORS_H_
