// What the experiments on threads, on bandwidth, on data in L1, on denormals and on pages
// (harness/experiments) found out about a region.

#ifndef TOPDNN_HARNESS_RESULTS_EXPERIMENT_RESULTS_H_
#define TOPDNN_HARNESS_RESULTS_EXPERIMENT_RESULTS_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/statistics/interval.h"

namespace topdnn {

// The same work on several numbers of threads.
struct WidthResult {
  std::vector<int> threads;     // ascending, from 1
  std::vector<double> seconds;  // the median on each number of threads
  Interval speedup;             // 95 %: the time on one thread over that on the most threads
  // 95 %: the part of the work that runs on one thread, if all other work is divided evenly (Karp
  // and Flatt, "Measuring Parallel Processor Performance", CACM 33(5), 1990). In [0, 1].
  Interval serial_share;
  std::string doubt;  // what else differs between the numbers of threads; empty: nothing
};

// The same work beside readers: threads on other CPUs that read from memory or from the last cache.
struct BandwidthResult {
  std::string resource;  // "dram" or "llc"
  // The rate of the strongest readers, as a share of the rate that they reach alone.
  double taken = 0;
  Interval slowdown;  // 95 %: the time beside the strongest readers over the time without any
  Interval slope;     // 95 %: the relative growth of the time, extrapolated to the whole rate taken
};

// The same code with its data in L1: its vector operands in memory are redirected to a few lines
// (harness/exact/redirect.h). Compared is the same translated code without redirection, so what
// the translator adds is in both times.
struct CoreResult {
  Interval beyond_l1;  // 95 %: the share of the time that waits for data beyond L1. In [0, 1]
  // 95 %: of a call with all data in L1, without waiting for threads. It does not depend on where
  // the data were.
  Interval core_seconds;
  // At most: of a call in which the front end delivers the same instructions, but most of
  // their work is left out. Absent: it does not execute the same instructions without the work.
  std::optional<double> delivery_seconds;
  // Medians of a repeated call: native (with waiting for threads), translated and redirected
  // (without it).
  double native_seconds = 0;
  double translated_seconds = 0;
  double redirected_seconds = 0;
  // Of the translated call: the time in which an OpenMP team existed, but not even its longest
  // share ran.
  double waiting_seconds = 0;
};

// An operand that a region reads, or its result.
struct OperandDenormals {
  std::string name;  // "src", "diff_weights"
  std::string kind;  // "values", "weights", "gradients"
  bool result = false;
  double share = 0;  // of its elements
};

// The same work with denormals, and with denormal operands and results taken as zero.
struct DenormalsResult {
  std::vector<OperandDenormals> operands;  // the floating-point ones; none of a whole step
  std::optional<Interval> factor;          // 95 %: the time with denormals over that without
  // What flushing changes in the results of a stage, or in what a step leaves behind: the share of
  // the elements, and the largest change relative to the largest element of its tensor.
  std::optional<double> changed, largest_change;
  std::string origin;  // of a step: where denormals come from; empty: there are none
  std::string reason;  // why there is no factor; or empty
};

// The same work on huge pages of one kind.
struct HugePagesResult {
  std::string kind;                // "transparent", "reserved"
  std::optional<Interval> factor;  // 95 %: the time on small pages over that on these
  // Of the memory that was exchanged, on these pages in every round according to the kernel. Only
  // of a step.
  std::optional<double> proved_bytes;
  std::string reason;  // why there is no factor; or empty
};

struct PagesResult {
  std::vector<HugePagesResult> kinds;
  double bytes = 0;  // of a stage's operands; of a step: of the memory that was exchanged
  // Of a step: what the second-level TLB for data reaches on small and on huge pages.
  std::optional<double> small_reach, huge_reach;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESULTS_EXPERIMENT_RESULTS_H_
