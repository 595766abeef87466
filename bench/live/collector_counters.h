// The counters of libtopdnn_live.so (collector.c), over all threads of the process.
//
// The kernel's counts are those of getrusage: a reading takes 2 to 4 us. A group of perf for the
// same counts takes 50 us while another thread of the process runs, because the kernel interrupts
// its CPU (measured with ResNet-18 in PyTorch on 2 CPUs of a virtual machine). So perf is used for
// the hardware's events alone.

#ifndef TOPDNN_BENCH_LIVE_COLLECTOR_COUNTERS_H_
#define TOPDNN_BENCH_LIVE_COLLECTOR_COUNTERS_H_

#include "bench/live/records.h"

/* Cumulative. `flags`: LIVE_HARDWARE or 0. */
struct Counts {
  uint64_t values[LIVE_COUNTS];
  uint16_t flags;
};

/* Opens the counters of this process for the calling thread and those that it makes later. Called
 * again in a forked child. */
void OpenCounters(const struct LiveHead* head);
void ReadCounts(struct Counts* counts);
/* The differences; returns the flags that both have. */
uint16_t CountsBetween(const struct Counts* before, const struct Counts* after, uint64_t* values);

#endif  // TOPDNN_BENCH_LIVE_COLLECTOR_COUNTERS_H_
