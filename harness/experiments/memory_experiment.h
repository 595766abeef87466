// How much of the time of each stage of a sequence is spent waiting for memory, without a PMU: the
// same code is timed on its own memory and on memory that a cache holds as a whole
// (remapped_memory.h). One round times, for every stage in turn, the stage in the sequence, by
// itself on each footprint, and by itself on its own pages. So a disturbance meets all of them.
//
// The result of a stage on a footprint is wrong. That is why
// - the stage runs on its own pages after that, before the next stage;
// - memory that decides what code executes (indices, labels, barriers) is excluded by the caller;
// - the instructions of both runs are counted (harness/exact), and must agree;
// - numbers that are not normal, which some cores compute slowly, are looked for and refused.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_MEMORY_EXPERIMENT_H_
#define TOPDNN_HARNESS_EXPERIMENTS_MEMORY_EXPERIMENT_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/experiments/memory_times.h"
#include "harness/experiments/remapped_memory.h"
#include "harness/machine/topology.h"
#include "harness/measure/measure.h"

namespace topdnn {

struct MemorySubject {
  std::span<const TimedStage> stages;        // in the order in which they run
  std::vector<std::span<std::byte>> memory;  // that the stages use
  // By stage: parts of the memory that it uses and that are never remapped. May be empty.
  std::vector<std::vector<std::span<const std::byte>>> keep;
  int threads = 1;          // that write at once
  Action before_iteration;  // the next input
  bool f32 = true;          // the values are of this type
};

struct MemoryExperimentOptions {
  double seconds = 10;  // about; at least 6 rounds are run, 9 if 6 leave wide intervals
  bool compare_instructions = true;
  MemoryRegime regime = MemoryRegime::kHot;   // of the times that the caller explains
  const std::atomic<bool>* cancel = nullptr;  // polled between stages
  std::function<void(std::string_view what, double share)> progress;
};

struct StageMemory {
  std::vector<MemoryRound> rounds;  // empty: see `reason`
  std::string reason;               // why the experiment does not hold for this stage
  std::size_t remapped_bytes = 0;
  std::size_t kept_bytes = 0;  // touched, but on its own pages in every run
  // Of one run, without those of the OpenMP runtime; absent if they could not be counted.
  std::optional<double> instructions_own, instructions_remapped;
  std::optional<double> code_bytes;  // distinct code that the stage executes
};

struct MemoryExperiment {
  std::vector<StageMemory> stages;        // one per stage, also if it was cancelled
  std::vector<FootprintSize> footprints;  // of L2, and of the last cache if it has one
};

// The footprints for these caches and threads: of L2, and of a part of the last cache if that is
// large enough. Empty if the caches are not known.
std::vector<FootprintSize> FootprintsFor(const std::vector<Cache>& caches, int threads);

// Throws RemapError if the machine cannot do it. All memory is as before when it returns.
MemoryExperiment RunMemoryExperiment(const MemorySubject& subject, const std::vector<Cache>& caches,
                                     const MemoryExperimentOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_MEMORY_EXPERIMENT_H_
