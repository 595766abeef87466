// The figures of a data-parallel run: pure arithmetic on the samples of its ranks.

#ifndef TOPDNN_BENCH_STUDIES_SCALE_SCALE_FIGURES_H_
#define TOPDNN_BENCH_STUDIES_SCALE_SCALE_FIGURES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/ranks/transport.h"
#include "bench/studies/scale/scale_run.h"

namespace topdnn {

// The best rate of a sum over the ranks, in this run. The rate is the algorithm bandwidth: the
// bytes of the buffer divided by the time.
struct SumCeiling {
  double bytes_per_second = 0;
  std::int64_t bytes = 0;  // of the buffer that reached it
};

struct BucketFigures {
  std::string layers;
  std::int64_t bytes = 0;  // on the wire
  // Medians over the steps; each step's is the mean over the ranks. Absent for one rank.
  std::optional<double> seconds, exposed, hidden;
  std::optional<double> alone;             // median seconds of this sum alone
  std::optional<double> bytes_per_second;  // alone
  std::optional<double> ceiling_share;
};

struct RankFigures {
  std::optional<double> compute, exposed;  // medians over the steps
  std::optional<double> slowest;           // share of the steps in which its compute took longest
  std::optional<double> on_cpu;            // see RankSamples
  std::optional<double> excess;            // median compute, less that of the median rank, relative
};

struct GroupFigures {
  int ranks = 1;
  std::int64_t global_batch = 0;
  // By timed step: the longest step of a rank, and means over the ranks.
  std::vector<double> step, compute, exposed, hidden;
  std::vector<BucketFigures> buckets;
  std::vector<RankFigures> rank;
  std::optional<SumCeiling> ceiling;
};

// By timed step: the seconds of the rank that took longest.
std::vector<double> LongestSteps(const GroupRun& run);

GroupFigures FiguresOf(const GroupRun& run, Wire wire);

// Which rank shared its CPU with other work, in one line; empty: none did.
std::string DisturbanceOf(const GroupFigures& figures);

// Removes all times: the result was wrong.
void RemoveTimes(GroupFigures& figures);

// How much faster than one rank, and how much of the ideal that is. `one`: median seconds of a step
// on one rank, `own`: those of this group. In strong scaling, both steps have the same images; in
// weak scaling, this one has `ranks` times as many.
struct Speedup {
  double images = 1;      // ratio of the images per second
  double efficiency = 1;  // images / ranks
};
Speedup SpeedupOf(double one, double own, int ranks, bool weak);

// The largest relative difference of the first losses of two runs, over at most this many steps.
inline constexpr std::size_t kComparedLosses = 20;
double LossDifference(std::span<const double> a, std::span<const double> b);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SCALE_SCALE_FIGURES_H_
